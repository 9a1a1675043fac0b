"""The metrics that are columns of a table and that claims are about."""

from litebert.tasks.benchmarks.benchmarks import BENCHMARKS

Metric = str
"""`parameters` or another size of a model, `initial_mlm_accuracy` (before step 1), `mlm_accuracy`, `mlm_loss`,
`clm_accuracy` and `clm_loss` (of next tokens), `sop_accuracy`, `nsp_accuracy`, the name of a task, `average`; a setting
in rows with a `recipe`.
"""
MEASURES = {
    "initial_mlm_accuracy": "MLM before step 1",
    "mlm_accuracy": "MLM",
    "mlm_loss": "MLM loss",
    "clm_accuracy": "next tokens",
    "clm_loss": "next-token loss",
    "sop_accuracy": "SOP",
    "nsp_accuracy": "NSP",
    "tokens_per_second": "tokens/s",
}
"""Of a pretraining run; each with the title of its column, as the next ones."""
SIZES = {"num_hidden_layers": "layers", "hidden_size": "hidden size", "embedding_size": "embedding size"}
VARIATIONS = {"distance_variation": "variation of distances", "angle_variation": "variation of angles"}
RECIPE_SETTINGS = (
    "learning_rate",
    "batch_size",
    "hidden_dropout_prob",
    "classifier_dropout_prob",
    "steps",
    "warmup_steps",
    "max_length",
)
DECIMALS = {"mlm_loss": 3, "clm_loss": 3, **dict.fromkeys(VARIATIONS, 3)}
"""Of metrics that are not shown with one."""
METRICS: tuple[Metric, ...] = (
    *("parameters", "average"),
    *MEASURES,
    *SIZES,
    *RECIPE_SETTINGS,
    *VARIATIONS,
    *BENCHMARKS,
)
