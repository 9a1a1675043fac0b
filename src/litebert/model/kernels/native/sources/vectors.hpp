// Vectors of floats as wide as the processor has them, and numbers of 16 bits (bfloat16) read and written as floats.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
constexpr int WIDTH = 16;
#else
constexpr int WIDTH = 8;
#endif

typedef float Floats __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef int32_t Ints __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef uint32_t Bits __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));
typedef uint16_t Halves __attribute__((vector_size(WIDTH * 2), aligned(2), may_alias));

struct BFloat16 {
    uint16_t bits;
};

static inline Floats as_floats(Bits bits) { return reinterpret_cast<const Floats&>(bits); }

static inline Floats broadcast(float value) { return value - Floats{}; }

static inline Floats load(const float* from) { return *reinterpret_cast<const Floats*>(from); }
static inline void store(float* to, Floats values) { *reinterpret_cast<Floats*>(to) = values; }

static inline Floats load(const BFloat16* from) {
    const Halves halves = *reinterpret_cast<const Halves*>(from);
    const Bits bits = __builtin_convertvector(halves, Bits) << 16;
    return reinterpret_cast<const Floats&>(bits);
}

// Rounded to nearest, ties to even; a NaN stays one, since its bits are kept and the quiet bit is set.
static inline Bits rounded_bits(Floats values) {
    const Bits bits = reinterpret_cast<const Bits&>(values);
    const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const Bits is_nan = reinterpret_cast<const Bits&>(static_cast<const Ints&>(values != values));
    return (is_nan & ((bits >> 16) | 0x40u)) | (~is_nan & rounded);
}

#if defined(__AVX512BF16__) && defined(__AVX512F__)
static inline void store(BFloat16* to, Floats values) {
    const __m256bh halves = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(values));
    std::memcpy(to, &halves, sizeof halves);
}
// Each pair of numbers in 32 bits, the first in the lower half.
static inline Bits cells(Floats lower, Floats upper) {
    const auto low =
        _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(lower))));
    const auto high =
        _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(upper))));
    return reinterpret_cast<Bits>(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}
#else
static inline void store(BFloat16* to, Floats values) {
    *reinterpret_cast<Halves*>(to) = __builtin_convertvector(rounded_bits(values), Halves);
}
static inline Bits cells(Floats lower, Floats upper) { return rounded_bits(lower) | rounded_bits(upper) << 16; }
#endif

#ifdef __AVX512F__
constexpr Ints LANES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
constexpr Ints LANES = {0, 1, 2, 3, 4, 5, 6, 7};
#endif

// The first (0) or the second half (1) of a₀ b₀ a₁ b₁ …
template <int HALF, typename Vector>
static inline Vector interleaved(Vector a, Vector b) {
    return __builtin_shuffle(a, b, HALF * WIDTH / 2 + LANES / 2 + LANES % 2 * WIDTH);
}

// Two vectors of neighbours: the even elements and the odd ones.
struct Pairs {
    Floats even, odd;
};
typedef uint32_t Words __attribute__((vector_size(WIDTH * 4), aligned(2), may_alias));
static inline Pairs load_pairs(const BFloat16* from) {
    const Bits words = *reinterpret_cast<const Words*>(from);
    return {as_floats(words << 16), as_floats(words & 0xffff0000u)};
}
static inline void store_pairs(BFloat16* to, Floats even, Floats odd) {
    *reinterpret_cast<Words*>(to) = cells(even, odd);
}
static inline Pairs load_pairs(const float* from) {
    const Floats first = load(from), second = load(from + WIDTH);
    return {__builtin_shuffle(first, second, 2 * LANES), __builtin_shuffle(first, second, 2 * LANES + 1)};
}
static inline void store_pairs(float* to, Floats even, Floats odd) {
    store(to, interleaved<0>(even, odd));
    store(to + WIDTH, interleaved<1>(even, odd));
}

static inline Bits load_bits(const uint32_t* from) { return *reinterpret_cast<const Bits*>(from); }
static inline void store_bits(uint32_t* to, Bits bits) { *reinterpret_cast<Bits*>(to) = bits; }

static inline float as_float(float value) { return value; }
static inline float as_float(BFloat16 value) {
    const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
    float result;
    std::memcpy(&result, &bits, 4);
    return result;
}

static inline void assign(float& to, float value) { to = value; }
static inline void assign(BFloat16& to, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    to.bits = value != value ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

static inline Floats select(Ints condition, Floats yes, Floats no) { return condition ? yes : no; }
static inline Floats maximum(Floats a, Floats b) { return a > b ? a : b; }

// Each half, quarter, … exchanged with its neighbour, so that a reduction takes few steps.
template <int DISTANCE>
static inline Floats exchanged(Floats values) {
    return __builtin_shuffle(values, LANES ^ DISTANCE);
}

static inline float sum(Floats values) {
#ifdef __AVX512F__
    values += exchanged<8>(values);
#endif
    values += exchanged<4>(values);
    values += exchanged<2>(values);
    return values[0] + values[1];
}
static inline float largest(Floats values) {
#ifdef __AVX512F__
    values = maximum(values, exchanged<8>(values));
#endif
    values = maximum(values, exchanged<4>(values));
    values = maximum(values, exchanged<2>(values));
    return values[0] > values[1] ? values[0] : values[1];
}

// e^x to 2e-7 of the result; 0 below -87, infinity above 88.
static inline Floats exponential(Floats x) {
    const Floats shifted = x * 1.44269504f + 12582912.0f;  // rounds x / ln 2 to an integer in the low bits
    const Floats n = shifted - 12582912.0f;
    const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats p = broadcast(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    const Bits scaled = reinterpret_cast<const Bits&>(p) + (reinterpret_cast<const Bits&>(shifted) << 23);
    const Floats tail = select(x > 88.0f, broadcast(__builtin_inff()), Floats{}), within = as_floats(scaled);
    return select(x != x, x, select((x < -87.0f) | (x > 88.0f), tail, within));
}

template <typename T>
static inline void read_row(const T* from, int size, float* to) {
    int i = 0;
    for (; i + WIDTH <= size; i += WIDTH) store(to + i, load(from + i));
    for (; i < size; i++) to[i] = as_float(from[i]);
}

template <typename T>
static inline void write_row(const float* from, int size, T* to) {
    int i = 0;
    for (; i + WIDTH <= size; i += WIDTH) store(to + i, load(from + i));
    for (; i < size; i++) assign(to[i], from[i]);
}
