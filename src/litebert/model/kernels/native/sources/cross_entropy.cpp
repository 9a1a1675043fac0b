// Cross-entropy of rows of logits, and its gradient.
#include <cmath>
#include <vector>

#include "vectors.hpp"

namespace {

// The first of the largest numbers of a row is the one at `at`.
bool is_first_of_the_largest(const float* row, int64_t at, float most) {
    if (row[at] != most) return false;
    for (int64_t j = 0; j < at; j++)
        if (row[j] == most) return false;
    return true;
}

// Rows with a negative label are ignored: loss and gradient are 0. gradients: [rows, classes], or null, without which
// those of the bias, [threads, classes], are not added to.
template <typename T>
void cross_entropy(const T* logits, const float* bias, const int64_t* labels, float* losses, uint8_t* correct,
                   T* gradients, float* bias_gradients, int64_t rows, int64_t classes, int64_t threads) {
    const int64_t share = (rows + threads - 1) / threads, whole = classes / WIDTH * WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t part = 0; part < threads; part++) {
        std::vector<float> memory(classes);
        float *z = memory.data(), *of_bias = bias_gradients + part * classes;
        for (int64_t i = part * share; i < rows && i < (part + 1) * share; i++) {
            const T* row = logits + i * classes;
            T* out = gradients + (gradients ? i * classes : 0);
            const int64_t label = labels[i];
            losses[i] = 0;
            correct[i] = 0;
            if (label < 0) {
                if (gradients)
                    for (int64_t j = 0; j < classes; j++) assign(out[j], 0);
                continue;
            }
            Floats top = broadcast(-INFINITY);
            for (int64_t j = 0; j < whole; j += WIDTH) {
                const Floats logit = load(row + j) + load(bias + j);
                top = maximum(top, logit);
                store(z + j, logit);
            }
            float most = largest(top);
            for (int64_t j = whole; j < classes; j++) {
                z[j] = as_float(row[j]) + bias[j];
                most = z[j] > most ? z[j] : most;
            }
            const float own = z[label];
            correct[i] = is_first_of_the_largest(z, label, most);
            Floats sums = {};
            for (int64_t j = 0; j < whole; j += WIDTH) {
                const Floats e = exponential(load(z + j) - most);
                sums += e;
                store(z + j, e);
            }
            float total = sum(sums);
            for (int64_t j = whole; j < classes; j++) total += z[j] = std::exp(z[j] - most);
            losses[i] = most - own + std::log(total);
            if (!gradients) continue;
            const float inverse = 1 / total;
            z[label] -= total;
            for (int64_t j = 0; j < whole; j += WIDTH) {
                const Floats gradient = load(z + j) * inverse;
                store(of_bias + j, load(of_bias + j) + gradient);
                store(out + j, gradient);
            }
            for (int64_t j = whole; j < classes; j++) {
                of_bias[j] += z[j] * inverse;
                assign(out[j], z[j] * inverse);
            }
        }
    }
}

}  // namespace

#define CROSS_ENTROPY(T, NAME)                                                                                      \
    extern "C" void cross_entropy_##NAME(const T* logits, const float* bias, const int64_t* labels, float* losses,  \
                                         uint8_t* correct, T* gradients, float* bias_gradients, int64_t rows,       \
                                         int64_t classes, int64_t threads) {                                        \
        cross_entropy<T>(logits, bias, labels, losses, correct, gradients, bias_gradients, rows, classes, threads); \
    }
CROSS_ENTROPY(BFloat16, bfloat16)
CROSS_ENTROPY(float, float32)
