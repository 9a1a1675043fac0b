"""LoRA settings: values in range, each projection once."""

import pytest

from litebert.errors import ConfigError
from litebert.model.layers.lora_settings import LoRASettings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rank": 0}, "rank: must be greater than 0"),
        ({"alpha": 0}, "alpha: must be greater than 0"),
        ({"projections": ["query", "query"]}, "projections: names a projection twice"),
        ({"projections": []}, "projections: must have at least 1 item"),
        ({"projections": ["pooler"]}, "projections.0: must be 'query', 'key'"),
        ({"ranks": 3}, "did you mean 'rank'"),
    ],
)
def test_lora_settings_are_validated(values, message):
    with pytest.raises(ConfigError, match=message):
        LoRASettings.parse(values, where="adapters")
