// GELU in both forms, alone or as the gate of a feed-forward layer.
#include "vectors.hpp"

namespace {

struct Gelu {
    Floats value, derivative;
};

// x Φ(x), Φ the normal distribution. Abramowitz and Stegun (1964), formula 7.1.26, is within 1.5e-7 of the error
// function.
struct Exact {
    static Gelu at(Floats x) {
        const Floats distance = select(x < 0.0f, -x, x) * 0.70710678f;
        const Floats t = 1.0f / (1.0f + 0.3275911f * distance), density = exponential(-0.5f * x * x);
        const Floats polynomial =
            t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
        const Floats tail = 0.5f * polynomial * density;  // of |x|
        const Floats below = select(x < 0.0f, tail, 1.0f - tail);
        return {x * below, below + 0.39894228f * x * density};
    }
};

// x · sigmoid(2 u) with u = √(2 / π) (x + 0.044715 x³): the form with tanh.
struct Tanh {
    static Gelu at(Floats x) {
        constexpr float SLOPE = 1.5957691216057308f, CUBIC = 0.044715f;  // 2 √(2 / π)
        const Floats s = 1.0f / (1.0f + exponential(-SLOPE * x * (1.0f + CUBIC * x * x))), value = x * s;
        return {value, s + value * (1.0f - s) * (SLOPE * (1.0f + 3.0f * CUBIC * x * x))};
    }
};

// Calls run(in, out) for every vector of the inputs, and stores the outputs.
template <typename T, int INPUTS, int OUTPUTS, typename Run>
void each_vector(int64_t count, int64_t threads, const T* const (&inputs)[INPUTS], T* const (&outputs)[OUTPUTS],
                 const Run& run) {
    const int64_t whole = count / WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < whole; i++) {
        Floats in[INPUTS], out[OUTPUTS];
        for (int k = 0; k < INPUTS; k++) in[k] = load(inputs[k] + i * WIDTH);
        run(in, out);
        for (int k = 0; k < OUTPUTS; k++) store(outputs[k] + i * WIDTH, out[k]);
    }
    if (whole * WIDTH == count) return;
    Floats in[INPUTS] = {}, out[OUTPUTS];
    for (int k = 0; k < INPUTS; k++)
        for (int64_t i = whole * WIDTH; i < count; i++) in[k][i % WIDTH] = as_float(inputs[k][i]);
    run(in, out);
    for (int k = 0; k < OUTPUTS; k++)
        for (int64_t i = whole * WIDTH; i < count; i++) assign(outputs[k][i], out[k][i % WIDTH]);
}

}  // namespace

#define ACTIVATION(FORM, FORM_NAME, T, NAME)                                                                       \
    extern "C" void FORM_NAME##_##NAME(const T* x, T* result, int64_t count, int64_t threads) {                    \
        each_vector<T, 1, 1>(count, threads, {x}, {result},                                                        \
                             [](Floats* in, Floats* out) { out[0] = FORM::at(in[0]).value; });                     \
    }                                                                                                              \
    extern "C" void FORM_NAME##_backward_##NAME(const T* x, const T* gradient, T* result, int64_t count,           \
                                                int64_t threads) {                                                 \
        each_vector<T, 2, 1>(count, threads, {x, gradient}, {result},                                              \
                             [](Floats* in, Floats* out) { out[0] = FORM::at(in[0]).derivative * in[1]; });        \
    }                                                                                                              \
    extern "C" void gated_##FORM_NAME##_##NAME(const T* gate, const T* up, T* result, int64_t count,               \
                                               int64_t threads) {                                                  \
        each_vector<T, 2, 1>(count, threads, {gate, up}, {result},                                                 \
                             [](Floats* in, Floats* out) { out[0] = FORM::at(in[0]).value * in[1]; });             \
    }                                                                                                              \
    extern "C" void gated_##FORM_NAME##_backward_##NAME(const T* gate, const T* up, const T* gradient, T* of_gate, \
                                                        T* of_up, int64_t count, int64_t threads) {                \
        each_vector<T, 3, 2>(count, threads, {gate, up, gradient}, {of_gate, of_up}, [](Floats* in, Floats* out) { \
            const Gelu gelu = FORM::at(in[0]);                                                                     \
            out[0] = gelu.derivative * in[1] * in[2];                                                              \
            out[1] = gelu.value * in[2];                                                                           \
        });                                                                                                        \
    }
ACTIVATION(Exact, gelu, BFloat16, bfloat16)
ACTIVATION(Exact, gelu, float, float32)
ACTIVATION(Tanh, gelu_tanh, BFloat16, bfloat16)
ACTIVATION(Tanh, gelu_tanh, float, float32)
