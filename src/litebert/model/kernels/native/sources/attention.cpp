// Attention inside each of the concatenated examples, forward and backward, one head of one example at a time.
//
// Scores and probabilities are never stored: the backward pass computes them again from the logarithms of the sums that
// the forward pass keeps. Source of that: FlashAttention (Dao et al. 2022, arXiv 2205.14135), section 3.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "products.hpp"

namespace {

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
        : problem(p), start(p.starts[task / p.heads]), index(task % p.heads), length(p.lengths[task / p.heads]),
          keys(rounded_up(length, 32)), size(rounded_up(p.size, 32)) {}

    // The keys that a block of queries attends to, rounded up.
    int seen(int first) const { return problem.causal ? std::min(keys, first + QUERIES) : keys; }
    int seen_by(int query) const { return problem.causal ? query + 1 : length; }
    int64_t row(int i, int part, int parts) const { return (((start + i) * parts + part) * problem.heads + index) * problem.size; }
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
inline void put_row(uint32_t* to, int, int pair, Pairs x) { store_pairs(reinterpret_cast<BFloat16*>(to) + 2 * pair, x.even, x.odd); }

template <typename T, typename Cell>
void read_rows(const Head<T>& head, const T* from, int part, int parts, bool rotate, Cell* to, int step) {
    const int size = head.problem.size, half = size / 2;
    std::fill(to, to + head.keys * step, Cell{});
    for (int i = 0; i < head.length; i++, to += step) {
        const T* row = from + head.row(i, part, parts);
        int pair = 0;
        for (; pair + WIDTH <= half; pair += WIDTH) {
            const Pairs x = load_pairs(row + 2 * pair);
            put_row(to, head.size, pair, rotate ? rotated(x, load(head.cosines(i) + pair), load(head.sines(i) + pair)) : x);
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
                for (int d = pair; d < half; d++) to[d] = rest[d - pair], to[head.size / 2 + d] = rest[WIDTH + d - pair];
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


#ifdef __AMX_BF16__
template <typename T>
using OperandOf = typename std::conditional<std::is_same<T, BFloat16>::value, Tiles, Single>::type;
#else
template <typename T>
using OperandOf = Single;
#endif

inline const float* along_rows(const float* from, int, int, int, float*) { return from; }
inline const float* along_columns(const float* from, int, int, int, float*) { return from; }
inline const uint32_t* along_rows(const float* from, int rows, int columns, int step, uint32_t* to) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j += WIDTH) store(reinterpret_cast<BFloat16*>(to) + i * step + j, load(from + i * step + j));
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

// The scores of the keys from `valid` on become -infinity.
inline void hide(float* scores, int valid, int keys) {
    const Floats hidden = broadcast(-std::numeric_limits<float>::infinity());
    for (int j = valid / WIDTH * WIDTH; j < keys; j += WIDTH)
        store(scores + j, select(LANES < valid - j, load(scores + j), hidden));
}

// Memory of one thread, which it keeps, taken piece by piece for each head.
class Scratch {
  public:
    explicit Scratch(size_t cells) {
        if (memory.size() < cells + 16) memory.resize(cells + 16);
        reset();
    }
    void reset() { next = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) / 4 % 16; }
    template <typename Cell>
    Cell* take(size_t count) {
        static_assert(sizeof(Cell) == sizeof(float), "a cell takes the place of a float");
        next += count;
        return reinterpret_cast<Cell*>(next - count);
    }

  private:
    static thread_local std::vector<float> memory;
    float* next;
};
thread_local std::vector<float> Scratch::memory;

// e^(scale · score - largest) in place of each score; their sum, and the logarithm of the sum of e^(scale · score).
inline float exponentials(float* scores, int keys, float scale, float* log_sum) {
    Floats top = load(scores);
    for (int j = WIDTH; j < keys; j += WIDTH) top = maximum(top, load(scores + j));
    const float shift = largest(top) * scale;
    Floats total = {};
    for (int j = 0; j < keys; j += WIDTH) {
        const Floats e = exponential(load(scores + j) * scale - shift);
        total += e;
        store(scores + j, e);
    }
    const float all = sum(total);
    *log_sum = shift + std::log(all);
    return all;
}

template <typename T>
void forward_head(const Head<T>& head, T* contexts, float* log_sums, Scratch& scratch) {
    typedef OperandOf<T> Operand;
    typedef typename Operand::Cell Cell;
    constexpr int PER = Operand::PER_CELL;
    const Problem<T>& p = head.problem;
    const int size = head.size, keys = head.keys, step = size / PER, all = keys * size;
    Cell *q = scratch.take<Cell>(all), *k = scratch.take<Cell>(all), *v = scratch.take<Cell>(all);
    read_rows(head, p.projected, 0, 3, p.cosines, q, step);
    read_rows(head, p.projected, 1, 3, p.cosines, k, step);
    read_rows(head, p.projected, 2, 3, false, v, step);
    Cell* kT = scratch.take<Cell>(all);
    transpose(k, keys, step, step, kT, keys);
    const Cell* v2 = columns_of_rows(v, keys, size, scratch.take<Cell>(all));
    float *P = scratch.take<float>(QUERIES * keys), *O = scratch.take<float>(QUERIES * size);
    Cell* rounded = scratch.take<Cell>(QUERIES * keys);
    for (int first = 0; first < head.length; first += QUERIES) {
        const int rows = std::min(QUERIES, head.length - first), seen = head.seen(first);
        float sums[QUERIES];
        Operand::template product<false>(QUERIES, seen, step, q + first * step, step, kT, keys, P, keys);
        for (int i = 0; i < rows; i++) {
            hide(P + i * keys, head.seen_by(first + i), seen);
            sums[i] = exponentials(P + i * keys, seen, p.scale(), log_sums + (head.start + first + i) * p.heads + head.index);
        }
        const Cell* a = along_rows(P, QUERIES, seen, keys, rounded);
        Operand::template product<false>(QUERIES, size, seen / PER, a, keys / PER, v2, size, O, size);
        for (int i = 0; i < rows; i++)
            for (int d = 0; d < size; d += WIDTH) store(O + i * size + d, load(O + i * size + d) * (1 / sums[i]));
        write_rows(head, O, first, rows, 0, 1, false, contexts);
    }
}

// Probabilities in place of scores, and the gradients of the scores in place of those of the probabilities.
inline void softmax_gradient(float* scores, float* gradients, int keys, float scale, float log_sum) {
    Floats total = {};
    for (int j = 0; j < keys; j += WIDTH) {
        const Floats probability = exponential(load(scores + j) * scale - log_sum);
        store(scores + j, probability);
        total += probability * load(gradients + j);
    }
    const float mean = sum(total);
    for (int j = 0; j < keys; j += WIDTH)
        store(gradients + j, load(scores + j) * (load(gradients + j) - mean) * scale);
}

template <typename T>
void backward_head(const Head<T>& head, const T* gradient, const float* log_sums, T* results, Scratch& scratch) {
    typedef OperandOf<T> Operand;
    typedef typename Operand::Cell Cell;
    constexpr int PER = Operand::PER_CELL;
    const Problem<T>& p = head.problem;
    const int size = head.size, keys = head.keys, step = size / PER, all = keys * size;
    Cell *q = scratch.take<Cell>(all), *k = scratch.take<Cell>(all), *v = scratch.take<Cell>(all), *g = scratch.take<Cell>(all);
    read_rows(head, p.projected, 0, 3, p.cosines, q, step);
    read_rows(head, p.projected, 1, 3, p.cosines, k, step);
    read_rows(head, p.projected, 2, 3, false, v, step);
    read_rows(head, gradient, 0, 1, false, g, step);
    Cell *kT = scratch.take<Cell>(all), *vT = scratch.take<Cell>(all), *qT = scratch.take<Cell>(all), *gT = scratch.take<Cell>(all);
    transpose(k, keys, step, step, kT, keys);
    transpose(v, keys, step, step, vT, keys);
    const Cell* k2 = columns_of_rows(k, keys, size, scratch.take<Cell>(all));
    transpose(columns_of_rows(q, keys, size, scratch.take<Cell>(all)), keys / PER, size, size, qT, keys / PER);
    transpose(columns_of_rows(g, keys, size, scratch.take<Cell>(all)), keys / PER, size, size, gT, keys / PER);
    float *dQ = scratch.take<float>(QUERIES * size), *dKT = scratch.take<float>(all), *dVT = scratch.take<float>(all);
    std::fill(dKT, dKT + all, 0.0f);
    std::fill(dVT, dVT + all, 0.0f);
    float *P = scratch.take<float>(QUERIES * keys), *dS = scratch.take<float>(QUERIES * keys);
    Cell *rounded = scratch.take<Cell>(QUERIES * keys), *columns = scratch.take<Cell>(QUERIES * keys);
    for (int first = 0; first < head.length; first += QUERIES) {
        const int rows = std::min(QUERIES, head.length - first), seen = head.seen(first);
        Operand::template product<false>(QUERIES, seen, step, q + first * step, step, kT, keys, P, keys);
        Operand::template product<false>(QUERIES, seen, step, g + first * step, step, vT, keys, dS, keys);
        for (int i = 0; i < rows; i++) {
            hide(P + i * keys, head.seen_by(first + i), seen);
            const float log_sum = log_sums[(head.start + first + i) * p.heads + head.index];
            softmax_gradient(P + i * keys, dS + i * keys, seen, p.scale(), log_sum);
        }
        for (int i = rows; i < QUERIES; i++) {
            std::fill(P + i * keys, P + i * keys + seen, 0.0f);
            std::fill(dS + i * keys, dS + i * keys + seen, 0.0f);
        }
        const Cell* c = along_columns(P, QUERIES, seen, keys, columns);
        Operand::template product<true>(size, seen, QUERIES / PER, gT + first / PER, keys / PER, c, keys, dVT, keys);
        const Cell* b = along_columns(dS, QUERIES, seen, keys, columns);
        Operand::template product<true>(size, seen, QUERIES / PER, qT + first / PER, keys / PER, b, keys, dKT, keys);
        const Cell* a = along_rows(dS, QUERIES, seen, keys, rounded);
        Operand::template product<false>(QUERIES, size, seen / PER, a, keys / PER, k2, size, dQ, size);
        write_rows(head, dQ, first, rows, 0, 3, p.cosines, results);
    }
    float* back = reinterpret_cast<float*>(q);  // no longer needed, and as large
    transpose(dKT, size, keys, keys, back, size);
    write_rows(head, back, 0, head.length, 1, 3, p.cosines, results);
    transpose(dVT, size, keys, keys, back, size);
    write_rows(head, back, 0, head.length, 2, 3, false, results);
}

template <typename T, typename Run>
void each_head(const Problem<T>& p, int64_t threads, int per_key, int per_score, const Run& run) {
    const size_t keys = rounded_up(p.longest(), 32), size = rounded_up(p.size, 32);
    #pragma omp parallel num_threads(threads)
    {
        Scratch scratch((per_key * keys + QUERIES) * size + per_score * QUERIES * keys);
        const typename OperandOf<T>::Session session;
        #pragma omp for schedule(dynamic)
        for (int64_t task = 0; task < p.examples * p.heads; task++) {
            scratch.reset();
            run(Head<T>(p, task), scratch);
        }
    }
}

template <typename T>
void forward(const Problem<T>& p, T* contexts, float* log_sums, int64_t threads) {
    each_head(p, threads, 5, 2, [&](const Head<T>& head, Scratch& scratch) { forward_head(head, contexts, log_sums, scratch); });
}

template <typename T>
void backward(const Problem<T>& p, const T* gradient, const float* log_sums, T* results, int64_t threads) {
    each_head(p, threads, 13, 4, [&](const Head<T>& head, Scratch& scratch) {
        backward_head(head, gradient, log_sums, results, scratch);
    });
}

}  // namespace

#define ATTENTION(T, NAME)                                                                                              \
    extern "C" void attention_forward_##NAME(                                                                           \
        const T* projected, const float* cosines, const float* sines, const int64_t* starts, const int64_t* lengths,    \
        int64_t examples, int64_t heads, int64_t size, int64_t causal, T* contexts, float* log_sums, int64_t threads) { \
        forward<T>({projected, cosines, sines, starts, lengths, examples, heads, size, causal}, contexts, log_sums, threads); \
    }                                                                                                                   \
    extern "C" void attention_backward_##NAME(                                                                          \
        const T* projected, const float* cosines, const float* sines, const int64_t* starts, const int64_t* lengths,    \
        int64_t examples, int64_t heads, int64_t size, int64_t causal, const T* gradient, const float* log_sums,        \
        T* results, int64_t threads) {                                                                                  \
        backward<T>({projected, cosines, sines, starts, lengths, examples, heads, size, causal}, gradient, log_sums, results, threads); \
    }
ATTENTION(BFloat16, bfloat16)
ATTENTION(float, float32)

// Whether there are tiles; the system is asked for them once, and all threads that start later have them.
extern "C" int64_t has_tiles() {
#ifdef __AMX_BF16__
    constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return 0;
#endif
}
