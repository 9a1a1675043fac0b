// One head of one example: where its rows are in memory, and how they are read and written.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "vectors.hpp"

constexpr int AHEAD = 8;     // rows: a head's rows are far apart in memory, which the processor does not foresee
constexpr int QUERIES = 32;  // at once: their scores stay in the cache

inline int rounded_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

template <typename T>
struct Problem {
    const T* projected;               // [tokens, 3, heads, size]: queries, keys, values
    const float *cosines, *sines;     // [tokens, size / 2] of the rotation of each pair of neighbours; or null
    const int64_t *starts, *lengths;  // [examples]
    int64_t examples, heads, size;    // size of a head: even
    int64_t causal;                   // to no later token

    int longest() const { return *std::max_element(lengths, lengths + examples); }
    float scale() const { return 1 / std::sqrt(static_cast<float>(size)); }
};

// One head of one example.
template <typename T>
struct Head {
    const Problem<T>& problem;
    int64_t start;
    int index, length;
    int keys, size;  // length and size of the head, rounded up

    Head(const Problem<T>& p, int64_t task)
        : problem(p),
          start(p.starts[task / p.heads]),
          index(task % p.heads),
          length(p.lengths[task / p.heads]),
          keys(rounded_up(length, 32)),
          size(rounded_up(p.size, 32)) {}

    // The keys that a block of queries attends to, rounded up.
    int seen(int first) const { return problem.causal ? std::min(keys, first + QUERIES) : keys; }
    int seen_by(int query) const { return problem.causal ? query + 1 : length; }
    int64_t row(int i, int part, int parts) const {
        return (((start + i) * parts + part) * problem.heads + index) * problem.size;
    }
    int64_t row_step(int parts) const { return parts * problem.heads * problem.size; }
    const float* cosines(int i) const { return problem.cosines + (start + i) * (problem.size / 2); }
    const float* sines(int i) const { return problem.sines + (start + i) * (problem.size / 2); }
};

inline Pairs rotated(Pairs x, Floats c, Floats s) { return {x.even * c - x.odd * s, x.odd * c + x.even * s}; }

// Rows of a head, [keys, size]: the first of each pair of neighbours, then the second of each; zeros past the end.
inline void put_row(float* to, int size, int pair, Pairs x) {
    store(to + pair, x.even);
    store(to + size / 2 + pair, x.odd);
}
// The same as cells of the pairs, [keys, size / 2].
inline void put_row(uint32_t* to, int, int pair, Pairs x) {
    store_pairs(reinterpret_cast<BFloat16*>(to) + 2 * pair, x.even, x.odd);
}

template <typename T, typename Cell>
void read_rows(const Head<T>& head, const T* from, int part, int parts, bool rotate, Cell* to, int step) {
    const int size = head.problem.size, half = size / 2;
    std::fill(to, to + head.keys * step, Cell{});
    for (int i = 0; i < head.length; i++, to += step) {
        const T* row = from + head.row(i, part, parts);
        for (int d = 0; d < size; d += 64 / static_cast<int>(sizeof(T)))
            __builtin_prefetch(row + AHEAD * head.row_step(parts) + d);
        int pair = 0;
        for (; pair + WIDTH <= half; pair += WIDTH) {
            const Pairs x = load_pairs(row + 2 * pair);
            put_row(to, head.size, pair,
                    rotate ? rotated(x, load(head.cosines(i) + pair), load(head.sines(i) + pair)) : x);
        }
        if (pair < half) {  // fewer than a vector
            alignas(64) float x[2 * WIDTH] = {}, c[WIDTH] = {}, s[WIDTH] = {};
            alignas(64) Cell rest[2 * WIDTH] = {};
            for (int d = 2 * pair; d < size; d++) x[d - 2 * pair] = as_float(row[d]);
            if (rotate)
                for (int d = pair; d < half; d++) c[d - pair] = head.cosines(i)[d], s[d - pair] = head.sines(i)[d];
            const Pairs read = load_pairs(x);
            put_row(rest, 2 * WIDTH, 0, rotate ? rotated(read, load(c), load(s)) : read);
            if (std::is_same<Cell, float>::value)
                for (int d = pair; d < half; d++)
                    to[d] = rest[d - pair], to[head.size / 2 + d] = rest[WIDTH + d - pair];
            else
                for (int d = pair; d < half; d++) to[d] = rest[d - pair];
        }
    }
}

// Rows [count, size] of floats in the order of `read_rows`, rotated back.
template <typename T>
void write_rows(const Head<T>& head, const float* from, int first, int count, int part, int parts, bool rotate, T* to) {
    const int size = head.problem.size, half = size / 2;
    for (int i = first; i < first + count; i++, from += head.size) {
        T* row = to + head.row(i, part, parts);
        int pair = 0;
        for (; pair + WIDTH <= half; pair += WIDTH) {
            Pairs x = {load(from + pair), load(from + head.size / 2 + pair)};
            if (rotate) x = rotated(x, load(head.cosines(i) + pair), -load(head.sines(i) + pair));
            store_pairs(row + 2 * pair, x.even, x.odd);
        }
        for (; pair < half; pair++) {
            const float c = rotate ? head.cosines(i)[pair] : 1, s = rotate ? head.sines(i)[pair] : 0;
            const float x = from[pair], y = from[head.size / 2 + pair];
            assign(row[2 * pair], x * c + y * s);
            assign(row[2 * pair + 1], y * c - x * s);
        }
    }
}
