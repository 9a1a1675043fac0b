// Small matrix products of operands that are in the cache, C[rows, columns] (+)= A[rows, inner] B[inner, columns].
// Rows, columns and inner elements are multiples of 32; the inner dimension of A is contiguous. Each thread has a
// Session while it computes products.
#pragma once

#include <algorithm>
#include <type_traits>

#include "vectors.hpp"

inline Floats load_cells(const float* from) { return load(from); }
inline Bits load_cells(const uint32_t* from) { return load_bits(from); }

inline Floats add_product(Floats sums, float a, Floats b) { return sums + a * b; }
#ifdef __AVX512BF16__
inline Floats add_product(Floats sums, uint32_t a, Bits b) {
    const Bits pair = a - Bits{};
    return reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sums), reinterpret_cast<__m512bh>(pair),
                                                     reinterpret_cast<__m512bh>(b)));
}
#endif

// Products by vectors: of floats, or of pairs of bfloat16 with sums in 32 bits (uint32_t, AVX512-BF16).
template <typename Operand>
struct Vectors {
    typedef Operand Cell;
    static constexpr int PER_CELL = std::is_same<Cell, float>::value ? 1 : 2;  // neighbours of the inner dimension
    struct Session {};

    template <bool ADD>
    static void product(int rows, int columns, int inner, const Cell* A, int a_step, const Cell* B, int b_step,
                        float* C, int c_step) {
        for (int i = 0; i < rows; i += TILE_ROWS)
            for (int j = 0; j < columns; j += 2 * WIDTH)
                tile<ADD>(inner, A + i * a_step, a_step, B + j, b_step, C + i * c_step + j, c_step);
    }

  private:
    static constexpr int TILE_ROWS = WIDTH == 16 ? 8 : 4;  // so many sums, two vectors wide, stay in registers

    // Not inline, so that a pointer to each row stays in a register too.
    template <bool ADD>
    static __attribute__((noinline)) void tile(int inner, const Cell* A, int a_step, const Cell* B, int b_step,
                                               float* C, int c_step) {
        Floats sums[TILE_ROWS][2];
        const Cell* rows[TILE_ROWS];
        for (int i = 0; i < TILE_ROWS; i++) {
            rows[i] = A + i * a_step;
            for (int j = 0; j < 2; j++) sums[i][j] = ADD ? load(C + i * c_step + j * WIDTH) : Floats{};
        }
        for (int k = 0; k < inner; k++, B += b_step) {
            const auto first = load_cells(B), second = load_cells(B + WIDTH);
            for (int i = 0; i < TILE_ROWS; i++) {
                sums[i][0] = add_product(sums[i][0], rows[i][k], first);
                sums[i][1] = add_product(sums[i][1], rows[i][k], second);
            }
        }
        for (int i = 0; i < TILE_ROWS; i++)
            for (int j = 0; j < 2; j++) store(C + i * c_step + j * WIDTH, sums[i][j]);
    }
};

#ifdef __AMX_BF16__
// Products of pairs of bfloat16 with sums in 32 bits, by the tiles of Intel's AMX.
struct Tiles {
    typedef uint32_t Cell;
    static constexpr int PER_CELL = 2;

    // Each thread has tiles of its own. Afterwards they are configured as before: oneDNN may rely on it.
    class Session {
      public:
        Session() {
            asm volatile("sttilecfg %0" : "=m"(before));
            Config config;
            config.palette = 1;
            for (int tile = 0; tile < 8; tile++) config.bytes_per_row[tile] = 64, config.rows[tile] = 16;
            configure(config);
        }
        ~Session() { configure(before); }
        Session(const Session&) = delete;

      private:
        struct alignas(64) Config {
            uint8_t palette = 0, start_row = 0, reserved[14] = {};
            uint16_t bytes_per_row[16] = {};
            uint8_t rows[16] = {};
        } before;
        // GCC's intrinsic names the first 8 of the 64 bytes as its input, so that stores to the others may be removed.
        static void configure(const Config& config) { asm volatile("ldtilecfg %0" ::"m"(config)); }
    };

    template <bool ADD>
    static void product(int rows, int columns, int inner, const Cell* A, int a_step, const Cell* B, int b_step,
                        float* C, int c_step) {
        asm volatile("" ::: "memory");  // the intrinsics that load tiles do not name what they read
        const int a_bytes = a_step * 4, b_bytes = b_step * 4, c_bytes = c_step * 4;
        for (int i = 0; i < rows; i += 32)
            for (int j = 0; j < columns; j += 32) {
                const Cell *a = A + i * a_step, *b = B + j;
                float *c = C + i * c_step + j, *below = c + 16 * c_step;
                if (ADD) {
                    _tile_loadd(0, c, c_bytes);
                    _tile_loadd(1, c + 16, c_bytes);
                    _tile_loadd(2, below, c_bytes);
                    _tile_loadd(3, below + 16, c_bytes);
                } else {
                    _tile_zero(0);
                    _tile_zero(1);
                    _tile_zero(2);
                    _tile_zero(3);
                }
                for (int k = 0; k < inner; k += 16) {
                    _tile_loadd(4, a + k, a_bytes);
                    _tile_loadd(5, a + 16 * a_step + k, a_bytes);
                    _tile_loadd(6, b + k * b_step, b_bytes);
                    _tile_loadd(7, b + k * b_step + 16, b_bytes);
                    _tile_dpbf16ps(0, 4, 6);
                    _tile_dpbf16ps(1, 4, 7);
                    _tile_dpbf16ps(2, 5, 6);
                    _tile_dpbf16ps(3, 5, 7);
                }
                _tile_stored(0, c, c_bytes);
                _tile_stored(1, c + 16, c_bytes);
                _tile_stored(2, below, c_bytes);
                _tile_stored(3, below + 16, c_bytes);
            }
    }
};
#endif

// What a product reads of a matrix of floats, as its A (along_rows) or as its B (along_columns): the floats themselves,
// or cells of two neighbours in a row [rows, columns / 2], or in a column [rows / 2, columns]. step: between rows.
inline const float* along_rows(const float* from, int, int, int, float*) { return from; }
inline const float* along_columns(const float* from, int, int, int, float*) { return from; }
inline const uint32_t* along_rows(const float* from, int rows, int columns, int step, uint32_t* to) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j += WIDTH)
            store(reinterpret_cast<BFloat16*>(to) + i * step + j, load(from + i * step + j));
    return to;
}
inline const uint32_t* along_columns(const float* from, int rows, int columns, int step, uint32_t* to) {
    for (int i = 0; i < rows; i += 2)
        for (int j = 0; j < columns; j += WIDTH)
            store_bits(to + i / 2 * step + j, cells(load(from + i * step + j), load(from + (i + 1) * step + j)));
    return to;
}

// Rows of cells [keys, size / 2] as cells of two neighbours in a column, [keys / 2, size]: even columns, then odd ones.
inline const float* columns_of_rows(const float* from, int, int, float*) { return from; }
inline const uint32_t* columns_of_rows(const uint32_t* from, int keys, int size, uint32_t* to) {
    for (int i = 0; i < keys; i += 2)
        for (int d = 0; d < size / 2; d += WIDTH) {
            const Bits a = load_bits(from + i * (size / 2) + d), b = load_bits(from + (i + 1) * (size / 2) + d);
            store_bits(to + i / 2 * size + d, (a & 0xffffu) | b << 16);
            store_bits(to + i / 2 * size + size / 2 + d, a >> 16 | (b & 0xffff0000u));
        }
    return to;
}

// Rows and columns are multiples of 16.
template <typename Cell>
void transpose(const Cell* from, int rows, int columns, int from_step, Cell* to, int to_step) {
    for (int i = 0; i < rows; i += WIDTH)
        for (int j = 0; j < columns; j += WIDTH) {
            Bits block[WIDTH], next[WIDTH];
            for (int k = 0; k < WIDTH; k++)
                block[k] = load_bits(reinterpret_cast<const uint32_t*>(from) + (i + k) * from_step + j);
            for (int distance = 1; distance < WIDTH; distance *= 2) {  // each row with the one half a block below it
                for (int k = 0; k < WIDTH / 2; k++) {
                    next[2 * k] = interleaved<0>(block[k], block[k + WIDTH / 2]);
                    next[2 * k + 1] = interleaved<1>(block[k], block[k + WIDTH / 2]);
                }
                std::copy(next, next + WIDTH, block);
            }
            for (int k = 0; k < WIDTH; k++)
                store_bits(reinterpret_cast<uint32_t*>(to) + (j + k) * to_step + i, block[k]);
        }
}
