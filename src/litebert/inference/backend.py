"""What a `Predictor` needs of the model that it has loaded."""

from abc import ABC, abstractmethod
from typing import Protocol

from torch import nn

from litebert.inference.prediction_methods import METHODS_WITHOUT_TASK_TYPE
from litebert.settings import InferencePrecision
from litebert.tokenization.tokenizer import Tokenizer


class Backend(Protocol):
    """A model with its tokenizer, which makes results of its outputs: those of a task, filled masks or embeddings."""

    @property
    def model(self) -> nn.Module:
        """It has a `config`, and an `encoder`."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of its directory."""
        ...

    @property
    def precision(self) -> InferencePrecision:
        """The arithmetic of the model; never `auto`."""
        ...

    @property
    def place(self) -> str:
        """What messages call it: its directory, if it was loaded from one."""
        ...

    @property
    def task(self) -> str:
        """Name of the task type, `fill_mask` or `embedding`."""
        ...

    @property
    def method(self) -> str:
        """The method of a `Predictor` that has its results, such as `classify`."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names in the order of the model; empty for models without."""
        ...

    @property
    def max_length(self) -> int:
        """Longest sequence of its task in tokens."""
        ...

    @property
    def reads_single_texts(self) -> bool:
        """Whether it was trained on single texts; False where that is not known."""
        ...

    @property
    def reads_long_texts(self) -> bool:
        """Whether it reads texts that are longer than `max_length` in windows."""
        ...


class WithoutTaskType(ABC):
    """What is the same for all backends of models that are not fine-tuned."""

    @property
    @abstractmethod
    def task(self) -> str:
        """`fill_mask` or `embedding`."""

    @property
    def method(self) -> str:
        """The method of a `Predictor` that has its results."""
        return METHODS_WITHOUT_TASK_TYPE[self.task]

    @property
    def labels(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def reads_single_texts(self) -> bool:
        """Not known."""
        return False

    @property
    def reads_long_texts(self) -> bool:
        """Longer texts are truncated or refused."""
        return False
