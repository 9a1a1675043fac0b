"""The paper's tables and figures as experiments. Before: pretrain and finetune. After: reports with tested claims."""
