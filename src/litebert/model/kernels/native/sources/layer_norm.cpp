// Layer norm of rows in 32 bits, with results in 32 or 16 bits, and the sum of a residual stream and a layer's output.
#include <cmath>

#include "vectors.hpp"

namespace {

// Elements past the last whole vector of a row are read and written one by one.
struct Rest {
    int whole, size;
    explicit Rest(int size) : whole(size / WIDTH * WIDTH), size(size) {}
    template <typename T>
    Floats read(const T* row) const {
        Floats result = {};
        for (int i = whole; i < size; i++) result[i - whole] = as_float(row[i]);
        return result;
    }
    template <typename T>
    void write(T* row, Floats values) const {
        for (int i = whole; i < size; i++) assign(row[i], values[i - whole]);
    }
};

template <typename T>
void forward(const float* x, const float* weight, const float* bias, float epsilon, T* results, float* means,
             float* scales, int64_t rows, int64_t size, int64_t threads) {
    const Rest rest(size);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) {
        const float* row = x + i * size;
        Floats total = rest.read(row);
        for (int j = 0; j < rest.whole; j += WIDTH) total += load(row + j);
        const float mean = sum(total) / size;
        Floats squares = {};
        for (int j = 0; j < rest.whole; j += WIDTH) {
            const Floats centred = load(row + j) - mean;
            squares += centred * centred;
        }
        const Floats centred = select(LANES < rest.size - rest.whole, rest.read(row) - mean, Floats{});
        squares += centred * centred;
        const float scale = 1 / std::sqrt(sum(squares) / size + epsilon);
        for (int j = 0; j < rest.whole; j += WIDTH)
            store(results + i * size + j, (load(row + j) - mean) * scale * load(weight + j) + load(bias + j));
        rest.write(results + i * size, centred * scale * rest.read(weight) + rest.read(bias));
        if (!means) continue;  // without a backward pass
        means[i] = mean;
        scales[i] = scale;
    }
}

// weight_gradient and bias_gradient: [threads, size], to be summed.
template <typename T>
void backward(const float* x, const float* weight, const float* means, const float* scales, const T* gradient,
              float* results, float* weight_gradients, float* bias_gradients, int64_t rows, int64_t size,
              int64_t threads) {
    const Rest rest(size);
    const int64_t share = (rows + threads - 1) / threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t part = 0; part < threads; part++) {
        float *of_weight = weight_gradients + part * size, *of_bias = bias_gradients + part * size;
        for (int j = 0; j < size; j++) of_weight[j] = of_bias[j] = 0;
        for (int64_t i = part * share; i < rows && i < (part + 1) * share; i++) {
            const float *row = x + i * size, mean = means[i], scale = scales[i];
            const T* incoming = gradient + i * size;
            Floats total = {}, correlated = {};
            const auto add = [&](Floats centred, Floats g, Floats w, Floats dw, Floats db, auto put) {
                const Floats normalized = centred * scale;
                total += g * w;
                correlated += g * w * normalized;
                put(dw + g * normalized, db + g);
            };
            for (int j = 0; j < rest.whole; j += WIDTH)
                add(load(row + j) - mean, load(incoming + j), load(weight + j), load(of_weight + j), load(of_bias + j),
                    [&](Floats dw, Floats db) {
                        store(of_weight + j, dw);
                        store(of_bias + j, db);
                    });
            if (rest.whole < size)
                add(rest.read(row) - mean, rest.read(incoming), rest.read(weight), rest.read(of_weight),
                    rest.read(of_bias), [&](Floats dw, Floats db) {
                        rest.write(of_weight, dw);
                        rest.write(of_bias, db);
                    });
            const float mean_gradient = sum(total) / size, mean_correlated = sum(correlated) / size;
            const auto result = [&](Floats centred, Floats g, Floats w) {
                return (g * w - mean_gradient - centred * scale * mean_correlated) * scale;
            };
            for (int j = 0; j < rest.whole; j += WIDTH)
                store(results + i * size + j, result(load(row + j) - mean, load(incoming + j), load(weight + j)));
            rest.write(results + i * size, result(rest.read(row) - mean, rest.read(incoming), rest.read(weight)));
        }
    }
}

template <typename T>
void add(const float* x, const T* y, float* results, int64_t count, int64_t threads) {
    const int64_t whole = count / WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < whole; i++) store(results + i * WIDTH, load(x + i * WIDTH) + load(y + i * WIDTH));
    for (int64_t i = whole * WIDTH; i < count; i++) results[i] = x[i] + as_float(y[i]);
}

}  // namespace

#define LAYER_NORM(T, NAME)                                                                                            \
    extern "C" void layer_norm_##NAME(const float* x, const float* weight, const float* bias, double epsilon,          \
                                      T* results, float* means, float* scales, int64_t rows, int64_t size,             \
                                      int64_t threads) {                                                               \
        forward<T>(x, weight, bias, epsilon, results, means, scales, rows, size, threads);                             \
    }                                                                                                                  \
    extern "C" void layer_norm_backward_##NAME(                                                                        \
        const float* x, const float* weight, const float* means, const float* scales, const T* gradient,               \
        float* results, float* weight_gradients, float* bias_gradients, int64_t rows, int64_t size, int64_t threads) { \
        backward<T>(x, weight, means, scales, gradient, results, weight_gradients, bias_gradients, rows, size,         \
                    threads);                                                                                          \
    }                                                                                                                  \
    extern "C" void add_##NAME(const float* x, const T* y, float* results, int64_t count, int64_t threads) {           \
        add<T>(x, y, results, count, threads);                                                                         \
    }
LAYER_NORM(BFloat16, bfloat16)
LAYER_NORM(float, float32)
