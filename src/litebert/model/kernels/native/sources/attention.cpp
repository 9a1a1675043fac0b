// Attention inside each of the concatenated examples, forward and backward, one head of one example at a time.
//
// Scores and probabilities are never stored: the backward pass computes them again from the logarithms of the sums that
// the forward pass keeps. Source of that: FlashAttention (Dao et al. 2022, arXiv 2205.14135), section 3.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heads.hpp"
#include "products.hpp"

namespace {

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

template <typename Operand, typename T>
void forward_head(const Head<T>& head, T* contexts, float* log_sums, Scratch& scratch) {
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
            sums[i] =
                exponentials(P + i * keys, seen, p.scale(), log_sums + (head.start + first + i) * p.heads + head.index);
        }
        const Cell* a = along_rows(P, QUERIES, seen, keys, rounded);
        Operand::template product<false>(QUERIES, size, seen / PER, a, keys / PER, v2, size, O, size);
        for (int i = 0; i < rows; i++)
            for (int d = 0; d < size; d += WIDTH) store(O + i * size + d, load(O + i * size + d) * (1 / sums[i]));
        write_rows(head, O, first, rows, 0, 1, false, contexts);
    }
}

// Probabilities in place of scores, and the gradients of the scores in place of those of the probabilities.
//
// The logarithm of their sum is rounded, so the probabilities of large scores do not sum to 1; divided by their sum the
// mean is exact, and the gradients sum to 0.
inline void softmax_gradient(float* scores, float* gradients, int keys, float scale, float log_sum) {
    Floats total = {}, all = {};
    for (int j = 0; j < keys; j += WIDTH) {
        const Floats probability = exponential(load(scores + j) * scale - log_sum);
        store(scores + j, probability);
        total += probability * load(gradients + j);
        all += probability;
    }
    const float mean = sum(total) / sum(all);
    for (int j = 0; j < keys; j += WIDTH) store(gradients + j, load(scores + j) * (load(gradients + j) - mean) * scale);
}

template <typename Operand, typename T>
void backward_head(const Head<T>& head, const T* gradient, const float* log_sums, T* results, Scratch& scratch) {
    typedef typename Operand::Cell Cell;
    constexpr int PER = Operand::PER_CELL;
    const Problem<T>& p = head.problem;
    const int size = head.size, keys = head.keys, step = size / PER, all = keys * size;
    Cell *q = scratch.take<Cell>(all), *k = scratch.take<Cell>(all), *v = scratch.take<Cell>(all),
         *g = scratch.take<Cell>(all);
    read_rows(head, p.projected, 0, 3, p.cosines, q, step);
    read_rows(head, p.projected, 1, 3, p.cosines, k, step);
    read_rows(head, p.projected, 2, 3, false, v, step);
    read_rows(head, gradient, 0, 1, false, g, step);
    Cell *kT = scratch.take<Cell>(all), *vT = scratch.take<Cell>(all), *qT = scratch.take<Cell>(all),
         *gT = scratch.take<Cell>(all);
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

template <typename Operand, typename T, typename Run>
void each_head(const Problem<T>& p, int64_t threads, int per_key, int per_score, const Run& run) {
    const size_t keys = rounded_up(p.longest(), 32), size = rounded_up(p.size, 32);
#pragma omp parallel num_threads(threads)
    {
        Scratch scratch((per_key * keys + QUERIES) * size + per_score * QUERIES * keys);
        const typename Operand::Session session;
#pragma omp for schedule(dynamic)
        for (int64_t task = 0; task < p.examples * p.heads; task++) {
            scratch.reset();
            run(Head<T>(p, task), scratch);
        }
    }
}

template <typename Operand, typename T>
void forward(const Problem<T>& p, T* contexts, float* log_sums, int64_t threads) {
    each_head<Operand>(p, threads, 5, 2, [&](const Head<T>& head, Scratch& scratch) {
        forward_head<Operand>(head, contexts, log_sums, scratch);
    });
}

template <typename Operand, typename T>
void backward(const Problem<T>& p, const T* gradient, const float* log_sums, T* results, int64_t threads) {
    each_head<Operand>(p, threads, 13, 4, [&](const Head<T>& head, Scratch& scratch) {
        backward_head<Operand>(head, gradient, log_sums, results, scratch);
    });
}

}  // namespace

// Whether there are tiles: the processor has them, and the system grants them to the process, which is asked for once.
extern "C" int64_t has_tiles() {
#ifdef __AMX_BF16__
    constexpr long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;
    static const bool granted = syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
    return granted;
#else
    return 0;
#endif
}

// Whether products of bfloat16 have an instruction of their own.
extern "C" int64_t has_bfloat16_products() {
#ifdef __AVX512BF16__
    return 1;
#else
    return has_tiles();
#endif
}

#ifdef __AVX512BF16__
typedef Vectors<uint32_t> WithoutTiles;
#else
typedef Vectors<float> WithoutTiles;
#endif
#ifdef __AMX_BF16__
typedef Tiles WithTiles;
#else
typedef WithoutTiles WithTiles;
#endif

#define ATTENTION(T, NAME, WITH_TILES, WITHOUT_TILES)                                                            \
    extern "C" void attention_forward_##NAME(const T* projected, const float* cosines, const float* sines,       \
                                             const int64_t* starts, const int64_t* lengths, int64_t examples,    \
                                             int64_t heads, int64_t size, int64_t causal, T* contexts,           \
                                             float* log_sums, int64_t threads) {                                 \
        const auto compute = has_tiles() ? forward<WITH_TILES, T> : forward<WITHOUT_TILES, T>;                   \
        compute({projected, cosines, sines, starts, lengths, examples, heads, size, causal}, contexts, log_sums, \
                threads);                                                                                        \
    }                                                                                                            \
    extern "C" void attention_backward_##NAME(const T* projected, const float* cosines, const float* sines,      \
                                              const int64_t* starts, const int64_t* lengths, int64_t examples,   \
                                              int64_t heads, int64_t size, int64_t causal, const T* gradient,    \
                                              const float* log_sums, T* results, int64_t threads) {              \
        const auto compute = has_tiles() ? backward<WITH_TILES, T> : backward<WITHOUT_TILES, T>;                 \
        compute({projected, cosines, sines, starts, lengths, examples, heads, size, causal}, gradient, log_sums, \
                results, threads);                                                                               \
    }
ATTENTION(BFloat16, bfloat16, WithTiles, WithoutTiles)
ATTENTION(float, float32, Vectors<float>, Vectors<float>)
