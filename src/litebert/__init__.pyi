"""The public names for type checkers; `__init__.py` loads them when they are first used."""

from litebert.api.api_results import (
    EvaluationResult as EvaluationResult,
)
from litebert.api.api_results import (
    Predictions as Predictions,
)
from litebert.api.api_results import (
    TrainedModel as TrainedModel,
)
from litebert.api.estimators import TextClassifier as TextClassifier
from litebert.api.estimators import TextRegressor as TextRegressor
from litebert.api.model_use import (
    embed as embed,
)
from litebert.api.model_use import (
    evaluate as evaluate,
)
from litebert.api.model_use import (
    predict as predict,
)
from litebert.api.pretrain_dataset import PretrainDataset as PretrainDataset
from litebert.api.training_runs import (
    adapt as adapt,
)
from litebert.api.training_runs import (
    build_corpus as build_corpus,
)
from litebert.api.training_runs import (
    finetune as finetune,
)
from litebert.api.training_runs import (
    pretrain as pretrain,
)
from litebert.api.training_runs import (
    train_tokenizer as train_tokenizer,
)
from litebert.errors import (
    CheckpointError as CheckpointError,
)
from litebert.errors import (
    ConfigError as ConfigError,
)
from litebert.errors import (
    DataError as DataError,
)
from litebert.errors import (
    LitebertError as LitebertError,
)
from litebert.inference.predictor import Predictor as Predictor
from litebert.model.config import ModelConfig as ModelConfig
from litebert.model.io.model_directory import (
    load_model as load_model,
)
from litebert.model.io.model_directory import (
    save_model as save_model,
)
from litebert.model.io.push import push_to_hub as push_to_hub
from litebert.model.models import (
    ForMaskedLM as ForMaskedLM,
)
from litebert.model.models import (
    ForMultipleChoice as ForMultipleChoice,
)
from litebert.model.models import (
    ForPretraining as ForPretraining,
)
from litebert.model.models import (
    ForQuestionAnswering as ForQuestionAnswering,
)
from litebert.model.models import (
    ForQuestionAnsweringWithNoAnswer as ForQuestionAnsweringWithNoAnswer,
)
from litebert.model.models import (
    ForSequenceClassification as ForSequenceClassification,
)
from litebert.model.models import (
    ForTokenClassification as ForTokenClassification,
)
from litebert.model.models import (
    SentenceEmbedder as SentenceEmbedder,
)
from litebert.model.presets import preset as preset
from litebert.tokenization.tokenizer import Tokenizer as Tokenizer
from litebert.training.callbacks.callback import Callback as Callback
from litebert.training.callbacks.early_stopping import EarlyStopping as EarlyStopping
from litebert.training.callbacks.progress_display import progress_display as progress_display

__version__: str
