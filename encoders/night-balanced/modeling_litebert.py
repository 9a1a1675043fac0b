"""PyTorch implementation of litebert models for transformers. Written by litebert beside the weights.

An encoder whose layers share blocks, as ALBERT (Lan et al., 2020), optionally with rotary positions, pre-norm, a gated
feed-forward and low-rank updates of the shared weights in each layer. Shapes: B batch, S sequence, V vocabulary.
"""

from collections.abc import Collection
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import (
    BaseModelOutputWithPooling,
    MaskedLMOutput,
    ModelOutput,
    MultipleChoiceModelOutput,
    QuestionAnsweringModelOutput,
    SequenceClassifierOutput,
    TokenClassifierOutput,
)
from transformers.models.albert.modeling_albert import AlbertForPreTrainingOutput

from .configuration_litebert import LitebertConfig
from .layers_litebert import (
    LitebertAttention,
    LitebertEmbeddings,
    LitebertFeedForward,
    LowRankUpdate,
    mean_of_tokens,
    position_loss,
    rotation,
)


def layer_schedule(config: LitebertConfig) -> list[tuple[int, int]]:
    """For each block that runs, in order: the index of the stored attention and of the stored feed-forward."""
    layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
    grouped = [layer * groups // layers * inner + block for layer in range(layers) for block in range(inner)]
    own = list(range(layers * inner))
    attention = grouped if config.sharing in ("all", "attention") else own
    feed_forward = grouped if config.sharing in ("all", "feed_forward") else own
    return list(zip(attention, feed_forward, strict=True))


class LitebertPreTrainedModel(PreTrainedModel):
    """Base of all models."""

    config_class = LitebertConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = True
    _supports_sdpa = True

    def resize_token_embeddings(self, *arguments: Any, **options: Any) -> nn.Embedding:
        """As of transformers; the biases of new tokens in the masked-LM head are 0."""
        words = super().resize_token_embeddings(*arguments, **options)
        if isinstance(head := getattr(self, "mlm", None), LitebertMaskedLMHead):
            bias = head.bias.data[: words.num_embeddings]
            head.bias = nn.Parameter(F.pad(bias, (0, words.num_embeddings - len(bias))))
        return words

    def _returned(self, output: ModelOutput, return_dict: bool | None) -> Any:
        """`output`, or a tuple if `return_dict`, by default that of the config, is false."""
        wanted = self.config.return_dict if return_dict is None else return_dict
        return output if wanted else output.to_tuple()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, LowRankUpdate):
            nn.init.normal_(module.a, std=self.config.initializer_range)
            nn.init.zeros_(module.b)
        if isinstance(module, LitebertMaskedLMHead):
            nn.init.zeros_(module.bias)


class LitebertModel(LitebertPreTrainedModel):
    """The encoder."""

    def __init__(self, config: LitebertConfig, add_pooling_layer: bool = True):
        super().__init__(config)
        hidden, schedule = config.hidden_size, layer_schedule(config)
        self.schedule = schedule
        self.gradient_checkpointing = False
        self.embeddings = LitebertEmbeddings(config)
        projected = config.embedding_projection == "always" or config.embedding_size != hidden
        self.projection = nn.Linear(config.embedding_size, hidden) if projected else nn.Identity()
        self.attentions = nn.ModuleList(LitebertAttention(config) for _ in range(schedule[-1][0] + 1))
        self.feed_forwards = nn.ModuleList(LitebertFeedForward(config) for _ in range(schedule[-1][1] + 1))
        rank, adapters = config.recursion_lora_rank, config.adapters or {}
        self.recursion_lora = nn.ModuleList(self._low_rank(rank) for _ in (schedule if rank else ()))
        self.adapters = nn.ModuleList(
            self._low_rank(adapters["rank"], adapters["projections"]) for _ in (schedule if adapters else ())
        )
        self.final_norm = nn.LayerNorm(hidden, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.pooler = nn.Linear(hidden, hidden) if add_pooling_layer else None
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The word embeddings."""
        return self.embeddings.word

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the word embeddings."""
        assert isinstance(value, nn.Embedding)
        self.embeddings.word = value

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> BaseModelOutputWithPooling | tuple[Any, ...]:
        """Hidden states of all tokens and the pooled state of the first one."""
        attention_mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        token_type_ids = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        mask = attention_mask[:, None, None].bool()
        by = None
        if self.config.position_embedding == "rotary":
            size = self.config.hidden_size // self.config.num_attention_heads
            by = rotation(input_ids.shape[1], size, self.config.rope_theta, device=input_ids.device)
        x = self.projection(self.embeddings(input_ids, token_type_ids))
        states = [x]
        for step in range(len(self.schedule)):
            if self.gradient_checkpointing and self.training:
                x = self._gradient_checkpointing_func(self._layer, step, x, mask, by)
            else:
                x = self._layer(step, x, mask, by)
            states.append(x)
        states[-1] = x = self.final_norm(x)
        if output_hidden_states is None:
            output_hidden_states = self.config.output_hidden_states
        output = BaseModelOutputWithPooling(
            last_hidden_state=x,
            pooler_output=None if self.pooler is None else torch.tanh(self.pooler(x[:, 0])),
            hidden_states=tuple(states) if output_hidden_states else None,
        )
        return self._returned(output, return_dict)

    def _layer(self, step: int, x: Tensor, mask: Tensor, by: Any) -> Tensor:
        """The output of the attention and the feed-forward that run at `step`."""
        attention, feed_forward = self.schedule[step]
        updates = self._updates(step)
        x = self._block(self.attentions[attention], x, mask, by, updates)
        return self._block(self.feed_forwards[feed_forward], x, updates)

    def _block(self, block: Any, x: Tensor, *others: object) -> Tensor:
        """`x` + block(LayerNorm(`x`)) with `norm_first`, otherwise LayerNorm(`x` + block(`x`))."""
        if self.config.norm_first:
            return x + self.dropout(block(block.norm(x), *others))
        return block.norm(x + self.dropout(block(x, *others)))

    def _updates(self, step: int) -> dict[str, Tensor]:
        """The matrices to add to the weights of the block that runs at `step`."""
        sources: list[tuple[float, Any]] = []
        if self.config.recursion_lora_rank:
            sources.append((1.0, self.recursion_lora[step]))
        if self.config.adapters:
            sources.append((self.config.adapters["alpha"] / self.config.adapters["rank"], self.adapters[step]))
        updates: dict[str, Tensor] = {}
        for scale, source in sources:
            for name, update in source.items():
                matrix = scale * update()
                updates[name] = updates[name] + matrix if name in updates else matrix
        return updates

    def _low_rank(self, rank: int, names: Collection[str] | None = None) -> nn.ModuleDict:
        """Low-rank updates of the dense layers `names` of one block, by default of all."""
        named = [each for block in (self.attentions[0], self.feed_forwards[0]) for each in block.named_children()]
        layers = {name: layer for name, layer in named if isinstance(layer, nn.Linear)}
        shapes = {name: (layer.in_features, layer.out_features) for name, layer in layers.items()}
        shapes = {name: shapes[name] for name in (shapes if names is None else names)}
        return nn.ModuleDict({name: LowRankUpdate(*shape, rank) for name, shape in shapes.items()})


class LitebertMaskedLMHead(nn.Module):
    """Logits of the vocabulary; the output matrix is the word embeddings."""

    def __init__(self, config: LitebertConfig):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.embedding_size)
        self.norm = nn.LayerNorm(config.embedding_size, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.activation = ACT2FN[config.hidden_act]

    def forward(self, states: Tensor, words: nn.Embedding) -> Tensor:
        """Logits [B, S, V]."""
        return F.linear(self.norm(self.activation(self.dense(states))), words.weight, self.bias)


class LitebertForPreTraining(LitebertPreTrainedModel):
    """Masked language model and sentence-order prediction."""

    def __init__(self, config: LitebertConfig):
        super().__init__(config)
        self.encoder = LitebertModel(config)
        self.mlm = LitebertMaskedLMHead(config)
        self.sentence_pair = nn.Linear(config.hidden_size, 2)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        sentence_order_label: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> AlbertForPreTrainingOutput | tuple[Any, ...]:
        """Logits of both heads, and the sum of both losses if both labels are given."""
        output = self.encoder(input_ids, attention_mask, token_type_ids, output_hidden_states, return_dict=True)
        logits = self.mlm(output.last_hidden_state, self.encoder.embeddings.word)
        order = self.sentence_pair(output.pooler_output)
        loss = None
        if labels is not None and sentence_order_label is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            loss = loss + F.cross_entropy(order, sentence_order_label)
        return self._returned(AlbertForPreTrainingOutput(loss, logits, order, output.hidden_states), return_dict)


class LitebertHead(LitebertPreTrainedModel):
    """Base of the models with one head: logits, and their loss if there are labels."""

    encoder: LitebertModel
    output_class: type[ModelOutput]

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> MaskedLMOutput | MultipleChoiceModelOutput | SequenceClassifierOutput | TokenClassifierOutput | tuple:
        """Logits, and the loss; label -100 is ignored."""
        inputs = (input_ids, attention_mask, token_type_ids)
        rows = [None if tensor is None else tensor.flatten(0, -2) for tensor in inputs]
        output = self.encoder(*rows, output_hidden_states, return_dict=True)
        logits = self._logits(output, rows[1], input_ids.shape)
        loss = None if labels is None else self._loss(logits, labels)
        return self._returned(self.output_class(loss, logits, output.hidden_states), return_dict)

    def _logits(self, output: BaseModelOutputWithPooling, mask: Tensor | None, shape: torch.Size) -> Tensor:
        raise NotImplementedError

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


class LitebertForMaskedLM(LitebertHead):
    """Masked language model: logits [B, S, V]."""

    output_class = MaskedLMOutput

    def __init__(self, config: LitebertConfig):
        super().__init__(config)
        self.encoder = LitebertModel(config, add_pooling_layer=False)
        self.mlm = LitebertMaskedLMHead(config)
        self.post_init()

    def _logits(self, output: BaseModelOutputWithPooling, mask: Tensor | None, shape: torch.Size) -> Tensor:
        return self.mlm(output.last_hidden_state, self.encoder.embeddings.word)


class LitebertClassifier(LitebertHead):
    """Base of the classifiers: the encoder, dropout and a dense layer."""

    has_pooler = True

    def __init__(self, config: LitebertConfig, num_labels: int | None = None):
        super().__init__(config)
        self.encoder = LitebertModel(config, add_pooling_layer=self.has_pooler)
        self.dropout = nn.Dropout(config.classifier_dropout_prob)
        self.classifier = nn.Linear(config.hidden_size, num_labels or config.num_labels or 1)
        self.post_init()

    def _logits(self, output: BaseModelOutputWithPooling, mask: Tensor | None, shape: torch.Size) -> Tensor:
        states = cast(Tensor, output.last_hidden_state)
        if self.encoder.pooler is not None:
            first = self.config.classifier_pooling == "cls"
            states = torch.tanh(self.encoder.pooler(states[:, 0] if first else mean_of_tokens(states, mask)))
        return self.classifier(self.dropout(states))


class LitebertForSequenceClassification(LitebertClassifier):
    """Logits [B, classes]: one class of a sequence, several at once, or a number, by `config.problem_type`."""

    output_class = SequenceClassifierOutput

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        one_number = self.config.problem_type is None and self.config.num_labels == 1
        if self.config.problem_type == "regression" or one_number:
            return F.mse_loss(logits.flatten(), labels.flatten().to(logits.dtype))
        if self.config.problem_type == "multi_label_classification" or labels.is_floating_point():
            return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        return super()._loss(logits, labels)


class LitebertForMultipleChoice(LitebertClassifier):
    """Logits [B, C], one for each of C candidate sequences; inputs are [B, C, S]."""

    output_class = MultipleChoiceModelOutput

    def __init__(self, config: LitebertConfig):
        super().__init__(config, num_labels=1)

    def _logits(self, output: BaseModelOutputWithPooling, mask: Tensor | None, shape: torch.Size) -> Tensor:
        return super()._logits(output, mask, shape).view(shape[:2])


class LitebertForTokenClassification(LitebertClassifier):
    """Logits [B, S, classes]: classes of every token."""

    output_class = TokenClassifierOutput
    has_pooler = False


class LitebertForQuestionAnswering(LitebertPreTrainedModel):
    """Start and end of an answer in the text."""

    def __init__(self, config: LitebertConfig):
        super().__init__(config)
        self.encoder = LitebertModel(config, add_pooling_layer=False)
        self.spans = nn.Linear(config.hidden_size, 2)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> QuestionAnsweringModelOutput | tuple[Any, ...]:
        """Logits [B, S] of every position as start and as end."""
        output = self.encoder(input_ids, attention_mask, token_type_ids, output_hidden_states, return_dict=True)
        start, end = self.spans(output.last_hidden_state).unbind(-1)
        loss = None
        if start_positions is not None and end_positions is not None:
            loss = (position_loss(start, start_positions) + position_loss(end, end_positions)) / 2
        return self._returned(QuestionAnsweringModelOutput(loss, start, end, output.hidden_states), return_dict)
