// A whole block for a few rows in 32 bits, from the other kernels: one call. In a small model the calls of ten
// operators take as long as the arithmetic of a short text.
#include <algorithm>
#include <cstdint>

extern "C" {
void attention_forward_float32(const float* projected, const float* cosines, const float* sines, const int64_t* starts,
                               const int64_t* lengths, int64_t examples, int64_t heads, int64_t size, int64_t causal,
                               float* contexts, float* log_sums, int64_t threads);
void dense_float32(const float* x, const float* panels, const float* bias, const float* residual, float* to,
                   int64_t rows, int64_t inputs, int64_t outputs, int64_t threads);
void gated_gelu_float32(const float* gate, const float* up, float* result, int64_t count, int64_t threads);
void gated_gelu_tanh_float32(const float* gate, const float* up, float* result, int64_t count, int64_t threads);
void gelu_float32(const float* x, float* result, int64_t count, int64_t threads);
void gelu_tanh_float32(const float* x, float* result, int64_t count, int64_t threads);
void layer_norm_float32(const float* x, const float* weight, const float* bias, double epsilon, float* results,
                        float* means, float* scales, int64_t rows, int64_t size, int64_t threads);
}

namespace {

struct Layer {  // dense or layer norm; a dense layer's weight is in panels
    const float *weight, *bias;
};
struct Weights {  // without a gate, both of its pointers are null
    Layer query_key_value, output, attention_norm, gate, up, down, norm;
};

}  // namespace

// results = feed_forward(attention(x)), all [rows, hidden]. rotation: cosine and sine of each pair, [rows, pairs, 2],
// or null. The examples have the first rows. scratch: rows · (6 hidden + 2 inner + heads) numbers.
extern "C" void block_float32(const float* x, const Weights* weights, const float* rotation, const int64_t* starts,
                              const int64_t* lengths, int64_t examples, int64_t heads, int64_t size, int64_t inner,
                              int64_t norm_first, int64_t tanh_form, int64_t causal, double epsilon, float* scratch,
                              float* results, int64_t rows, int64_t threads) {
    const Weights& w = *weights;
    const int64_t hidden = heads * size, pairs = size / 2;
    float *normed = scratch, *projected = normed + rows * hidden, *contexts = projected + 3 * rows * hidden,
          *gate = contexts + rows * hidden, *up = gate + rows * inner, *log_sums = up + rows * inner,
          *cosines = log_sums + rows * heads, *sines = cosines + rows * pairs;
    const auto dense = [&](const float* from, const Layer& layer, const float* residual, float* to, int64_t inputs,
                           int64_t outputs) {
        dense_float32(from, layer.weight, layer.bias, residual, to, rows, inputs, outputs, threads);
    };
    const auto norm = [&](const float* from, const Layer& layer, float* to) {
        layer_norm_float32(from, layer.weight, layer.bias, epsilon, to, nullptr, nullptr, rows, hidden, threads);
        return to;
    };
    for (int64_t i = 0; rotation && i < rows * pairs; i++) cosines[i] = rotation[2 * i], sines[i] = rotation[2 * i + 1];

    dense(norm_first ? norm(x, w.attention_norm, normed) : x, w.query_key_value, nullptr, projected, hidden,
          3 * hidden);
    std::fill(contexts, contexts + rows * hidden, 0.0f);
    attention_forward_float32(projected, rotation ? cosines : nullptr, rotation ? sines : nullptr, starts, lengths,
                              examples, heads, size, causal, contexts, log_sums, threads);
    dense(contexts, w.output, x, results, hidden, hidden);

    const float* read = norm_first ? norm(results, w.norm, normed) : norm(results, w.attention_norm, results);
    dense(read, w.up, nullptr, up, hidden, inner);
    if (w.gate.weight) {
        dense(read, w.gate, nullptr, gate, hidden, inner);
        (tanh_form ? gated_gelu_tanh_float32 : gated_gelu_float32)(gate, up, up, rows * inner, threads);
    } else {
        (tanh_form ? gelu_tanh_float32 : gelu_float32)(up, up, rows * inner, threads);
    }
    dense(up, w.down, results, results, inner, hidden);
    if (!norm_first) norm(results, w.norm, results);
}
