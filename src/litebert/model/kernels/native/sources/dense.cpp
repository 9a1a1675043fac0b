// A dense layer in 32 bits for a few rows. Its weight is stored in panels of as many outputs as fill two vectors,
// [outputs / PANEL, inputs, PANEL], and the rows are read once for each panel, so they should stay in the cache.
#include <utility>

#include "vectors.hpp"

namespace {

constexpr int PANEL = 2 * WIDTH;
constexpr int TILE_ROWS = WIDTH == 16 ? 12 : 6;  // so many sums, two vectors wide, stay in registers

// The products of ROWS rows of x [rows, inputs] and a panel; write(row, vector, sums) gets each vector of sums.
template <int ROWS, typename Write>
__attribute__((noinline)) void tile_product(int64_t first, int64_t inputs, const float* x, const float* panel,
                                            const Write& write) {
    Floats sums[ROWS][2] = {};
    const float* rows[ROWS];
    for (int i = 0; i < ROWS; i++) rows[i] = x + (first + i) * inputs;
    for (int64_t k = 0; k < inputs; k++, panel += PANEL) {
        const Floats weights[2] = {load(panel), load(panel + WIDTH)};
        for (int i = 0; i < ROWS; i++) {
            const Floats input = broadcast(rows[i][k]);
            for (int j = 0; j < 2; j++) sums[i][j] += input * weights[j];
        }
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < ROWS; i++) write(first + i, j, sums[i][j]);
}

template <typename Write, int... ROWS>
void tile_product_of(int64_t rows, int64_t first, int64_t inputs, const float* x, const float* panel,
                     const Write& write, std::integer_sequence<int, ROWS...>) {
    typedef void (*Tile)(int64_t, int64_t, const float*, const float*, const Write&);
    static constexpr Tile tiles[] = {tile_product<ROWS + 1, Write>...};
    tiles[rows - 1](first, inputs, x, panel, write);
}

// Those of all rows, in tiles of nearly equal heights.
template <typename Write>
void panel_product(int64_t rows, int64_t inputs, const float* x, const float* panel, const Write& write) {
    const int64_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t i = 0; i < tiles; i++) {
        const int64_t first = rows * i / tiles, count = rows * (i + 1) / tiles - first;
        tile_product_of(count, first, inputs, x, panel, write, std::make_integer_sequence<int, TILE_ROWS>());
    }
}

struct Results {
    const float *bias, *residual;
    float* to;
    int64_t outputs;

    // One vector of results from the sums of products.
    void write(int64_t row, int64_t column, Floats sums) const {
        const int64_t at = row * outputs + column;
        if (bias) sums += load(bias + column);
        store(to + at, residual ? sums + load(residual + at) : sums);
    }
    // The first `count` of them.
    void write(int64_t row, int64_t column, Floats sums, int64_t count) const {
        for (int64_t j = 0; j < count; j++) {
            const int64_t at = row * outputs + column + j;
            const float value = bias ? sums[j] + bias[column + j] : sums[j];
            to[at] = residual ? value + residual[at] : value;
        }
    }
};

}  // namespace

extern "C" int64_t panel_width() { return PANEL; }

// to = x Wᵀ + bias + residual; bias and residual may be null. The last panel is filled up with zeros.
extern "C" void dense_float32(const float* x, const float* panels, const float* bias, const float* residual, float* to,
                              int64_t rows, int64_t inputs, int64_t outputs, int64_t threads) {
    const Results results = {bias, residual, to, outputs};
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < outputs; first += PANEL)
        panel_product(rows, inputs, x, panels + first * inputs, [&](int64_t row, int vector, Floats sums) {
            const int64_t column = first + vector * WIDTH, left = outputs - column;
            left >= WIDTH ? results.write(row, column, sums) : results.write(row, column, sums, left);
        });
}
