// Rows of activations to 8 bits before a product, and its results back to numbers of 32 or 16 bits.
#include "vectors.hpp"

namespace {

constexpr float LARGEST = 127, TINY = 1e-12f;
constexpr float ROUNDING = 12582912.0f;  // 1.5 · 2²³: a float this large has an integer in its low bits
constexpr int ZERO_POINT = 128;

typedef uint8_t Bytes __attribute__((vector_size(WIDTH), aligned(1), may_alias));

// The largest absolute value; NaN if one is not finite.
template <typename T>
float largest_of(const T* row, int size) {
    const int whole = size / WIDTH * WIDTH;
    Floats found = {}, not_finite = {}, rest = {};
    const auto add = [&](Floats values) {
        found = maximum(found, select(values < 0.0f, -values, values));
        not_finite += values - values;
    };
    for (int j = 0; j < whole; j += WIDTH) add(load(row + j));
    for (int j = whole; j < size; j++) rest[j - whole] = as_float(row[j]);
    add(rest);
    return largest(found) + sum(not_finite);
}

// Each row / scale, rounded, plus 128; scales: the largest absolute value of the row / 127.
template <typename T>
void quantize(const T* x, uint8_t* results, float* scales, int64_t rows, int64_t size, int64_t threads) {
    const int whole = size / WIDTH * WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) {
        const T* row = x + i * size;
        uint8_t* to = results + i * size;
        const float found = largest_of(row, size), scale = (found < TINY ? TINY : found) / LARGEST;
        const float factor = found != found ? 0 : 1 / scale;
        const auto rounded = [factor](Floats values) {
            const Floats shifted = values * factor + ROUNDING;
            return (reinterpret_cast<const Bits&>(shifted) + ZERO_POINT) & 0xffu;
        };
        for (int j = 0; j < whole; j += WIDTH)
            *reinterpret_cast<Bytes*>(to + j) = __builtin_convertvector(rounded(load(row + j)), Bytes);
        Floats rest = {};
        for (int j = whole; j < size; j++) rest[j - whole] = as_float(row[j]);
        const Bits last = rounded(rest);
        for (int j = whole; j < size; j++) to[j] = last[j - whole];
        scales[i] = scale;
    }
}

// products · scale of the row + bias of the column, + residual unless that is null.
template <typename T>
void rescale(const float* products, const float* scales, const float* bias, const float* residual, T* results,
             int64_t rows, int64_t size, int64_t threads) {
    const int whole = size / WIDTH * WIDTH;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) {
        const float *row = products + i * size, *added = residual ? residual + i * size : nullptr, scale = scales[i];
        T* to = results + i * size;
        for (int j = 0; j < whole; j += WIDTH) {
            const Floats values = load(row + j) * scale + load(bias + j);
            store(to + j, added ? values + load(added + j) : values);
        }
        for (int j = whole; j < size; j++) {
            const float value = row[j] * scale + bias[j];
            assign(to[j], added ? value + added[j] : value);
        }
    }
}

}  // namespace

#define INT8_ROWS(T, NAME)                                                                                        \
    extern "C" void quantize_rows_##NAME(const T* x, uint8_t* results, float* scales, int64_t rows, int64_t size, \
                                         int64_t threads) {                                                       \
        quantize<T>(x, results, scales, rows, size, threads);                                                     \
    }                                                                                                             \
    extern "C" void rescale_rows_##NAME(const float* products, const float* scales, const float* bias,            \
                                        const float* residual, T* results, int64_t rows, int64_t size,            \
                                        int64_t threads) {                                                        \
        rescale<T>(products, scales, bias, residual, results, rows, size, threads);                               \
    }
INT8_ROWS(BFloat16, bfloat16)
INT8_ROWS(float, float32)
