"""What the runs of several commands share: directory, precision, card. Before: training. After: pretrain, finetune."""
