#include "tests/gpu/approximations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "common/random.h"
#include "worker/device/sim/alu_formats.h"

namespace fsr {
namespace {

constexpr size_t kBinade = size_t{1} << 23;
constexpr size_t kHalves = size_t{1} << 16;
constexpr size_t kFractionsSingle = size_t{1} << 11, kFractionsDouble = size_t{1} << 8;
constexpr size_t kPairs = size_t{1} << 21;

// How a type lies in the low bits of a word. Steps are counted in units of `unit`, which is 1 but for upper words.
struct Layout {
  int bits, fraction_bits, unit_bits = 0;
  uint64_t sign() const { return uint64_t{1} << (bits - 1); }
  uint64_t infinity() const { return (sign() - 1) & ~((uint64_t{1} << fraction_bits) - 1); }
  uint64_t exponents() const { return uint64_t{1} << (bits - 1 - fraction_bits); }
};

bool Has(const std::string& instruction, const char* part) { return instruction.find(part) != std::string::npos; }
bool IsPair(const std::string& instruction) { return Has(instruction, "x2"); }
bool IsUpperWord(const std::string& instruction) { return Has(instruction, ".ftz.f64"); }

Layout LayoutOf(const std::string& instruction) {
  if (Has(instruction, ".f64")) return {64, 52, IsUpperWord(instruction) ? 32 : 0};
  if (Has(instruction, ".bf16")) return {16, 7};
  if (Has(instruction, ".f16")) return {16, 10};
  return {32, 23};
}

double Flushed(double value, double least) { return std::fabs(value) < least ? std::copysign(0.0, value) : value; }

// In the precision of T, so that one rounding to a shorter type is all but right.
template <class T>
T Exact(const std::string& opcode, T a, T b) {
  if (opcode == "ex2") return std::exp2(a);
  if (opcode == "lg2") return std::log2(a);
  if (opcode == "sin") return std::sin(a);
  if (opcode == "cos") return std::cos(a);
  if (opcode == "tanh") return std::tanh(a);
  if (opcode == "rcp") return 1 / a;
  if (opcode == "sqrt") return std::sqrt(a);
  if (opcode == "rsqrt") return 1 / std::sqrt(a);
  return a / b;
}

uint64_t NearestDouble(const std::string& instruction, const std::string& opcode, uint64_t a) {
  if (!IsUpperWord(instruction)) {
    const long double value = std::bit_cast<double>(a);
    return std::bit_cast<uint64_t>(static_cast<double>(Exact<long double>(opcode, value, 1)));
  }
  constexpr uint64_t kUpper = 0xffffffff00000000u;
  const double value = Flushed(std::bit_cast<double>(a & kUpper), 0x1p-1022);
  return std::bit_cast<uint64_t>(Flushed(Exact<double>(opcode, value, 1), 0x1p-1022)) & kUpper;
}

uint64_t NearestSingle(const std::string& instruction, const std::string& opcode, uint64_t a, uint64_t b) {
  const double least = Has(instruction, ".ftz") ? 0x1p-126 : 0;
  const auto source = [&](uint64_t bits) { return Flushed(std::bit_cast<float>(static_cast<uint32_t>(bits)), least); };
  const auto nearest = static_cast<float>(Exact<double>(opcode, source(a), source(b)));
  return std::bit_cast<uint32_t>(static_cast<float>(Flushed(nearest, least)));
}

template <class H>
uint64_t NearestHalf(const std::string& instruction, const std::string& opcode, uint64_t a, double least_normal) {
  const double least = Has(instruction, ".ftz") ? least_normal : 0;
  const double source = Flushed(sim::alu::Widen(H{static_cast<uint16_t>(a)}), least);
  const H nearest = sim::alu::NarrowTo<H>(Exact<double>(opcode, source, 1), sim::alu::Rounding::kNearestEven);
  const bool flush = std::fabs(sim::alu::Widen(nearest)) < least;
  return flush ? Raw(nearest) & 0x8000u : Raw(nearest);
}

uint64_t NearestOne(const std::string& instruction, uint64_t a, uint64_t b) {
  const std::string opcode = instruction.substr(0, instruction.find('.'));
  if (Has(instruction, ".f64")) return NearestDouble(instruction, opcode, a);
  if (Has(instruction, ".bf16")) return NearestHalf<sim::alu::BF16>(instruction, opcode, a, 0x1p-126);
  if (Has(instruction, ".f16")) return NearestHalf<sim::alu::F16>(instruction, opcode, a, 0x1p-14);
  return NearestSingle(instruction, opcode, a, b);
}

// Neighbouring values get neighbouring numbers.
int64_t Ordered(const Layout& layout, uint64_t bits) {
  uint64_t magnitude = bits & (layout.sign() - 1);
  if (magnitude > layout.infinity()) return static_cast<int64_t>((layout.sign() - 1) >> layout.unit_bits);
  const auto steps = static_cast<int64_t>(magnitude >> layout.unit_bits);
  return (bits & layout.sign()) != 0 ? -steps : steps;
}

uint64_t AnyBits(size_t at, int index) { return SplitMix64(2 * uint64_t{at} + static_cast<uint64_t>(index))(); }

uint64_t FractionOf(const Layout& layout, size_t k, uint64_t any) {
  const uint64_t all = (uint64_t{1} << layout.fraction_bits) - 1, half = (all + 1) / 2;
  const uint64_t awkward[] = {0, 1, 2, half - 1, half, half + 1, all - 1, all};
  return k < std::size(awkward) ? awkward[k] : any & all;
}

Sweep Binade(const std::string& name, uint64_t first) { return {name, Sweep::Kind::kRange, kBinade, first, 1}; }
Sweep AllExponents(int exponent_bits, size_t fractions) {
  return {"all exponents", Sweep::Kind::kAllExponents, (size_t{2} << exponent_bits) * fractions};
}

}  // namespace

std::vector<Approximation> Approximations() {
  const Sweep all = AllExponents(8, kFractionsSingle), all_double = AllExponents(11, kFractionsDouble);
  const Sweep half_one = Binade("[1/2, 1)", 0x3f000000), one_two = Binade("[1, 2)", 0x3f800000),
              two_four = Binade("[2, 4)", 0x40000000), minus = Binade("-[1, 2)", 0xbf800000);
  const Sweep pairs = {"pairs", Sweep::Kind::kPairs, kPairs};
  const Sweep halves = {"all", Sweep::Kind::kRange, kHalves};
  const Sweep pairs_of_halves = {"pairs of all", Sweep::Kind::kRange, kHalves, 0x80000000, 0x10001};
  // Every 64th number: tanh is so coarse that its steps would fill a capture.
  const Sweep tanh_range = {"[2^-9, 16)", Sweep::Kind::kRange, 13 * (kBinade / 64), 0x3b000000, 64};
  std::vector<Approximation> list = {
      {"ex2.approx.ftz.f32", {all, one_two, half_one, minus}},
      {"ex2.approx.f32", {all}},
      {"rcp.approx.ftz.f32", {all, one_two}},
      {"rcp.approx.f32", {all}},
      {"rsqrt.approx.ftz.f32", {all, one_two, two_four}},
      {"rsqrt.approx.f32", {all}},
      {"sqrt.approx.ftz.f32", {all, one_two, two_four}},
      {"sqrt.approx.f32", {all}},
      {"lg2.approx.ftz.f32", {all, half_one, one_two}},
      {"lg2.approx.f32", {all}},
      {"sin.approx.ftz.f32", {all, half_one, two_four}},
      {"sin.approx.f32", {all}},
      {"cos.approx.ftz.f32", {all, one_two}},
      {"cos.approx.f32", {all}},
      {"tanh.approx.f32", {all, tanh_range}},
      {"div.approx.ftz.f32", {pairs}},
      {"div.approx.f32", {pairs}},
      {"div.full.ftz.f32", {pairs}},
      {"div.full.f32", {pairs}},
      {"rcp.approx.ftz.f64", {all_double}},
      {"rsqrt.approx.ftz.f64", {all_double}},
      {"rsqrt.approx.f64", {all_double}},
  };
  for (const char* instruction : {"ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"}) {
    list.push_back({instruction, {halves}});
    list.push_back({std::string(instruction) + "x2", {pairs_of_halves}});
  }
  return list;
}

std::string TypeNameOf(const std::string& instruction) { return instruction.substr(instruction.rfind('.') + 1); }

int SourcesOf(const std::string& instruction) { return instruction.starts_with("div") ? 2 : 1; }

uint64_t InputOf(const Approximation& approximation, const Sweep& sweep, size_t at, int index) {
  const Layout layout = LayoutOf(approximation.instruction);
  if (sweep.kind == Sweep::Kind::kRange) return (sweep.first + at * sweep.step) & 0xffffffffu;
  if (sweep.kind == Sweep::Kind::kPairs) {
    const uint64_t any = AnyBits(at, index) & (2 * layout.sign() - 1);
    if (at % 2 == 0) return any;
    // The quotient's exponent is then small, and often the dividend's or the divisor's is at an end of the range.
    const uint64_t exponent = std::clamp<uint64_t>((AnyBits(at, 2) & 0xffu) + (any >> 29 & 3u), 1, 254);
    return (any & (layout.sign() | 0x7fffffu)) | exponent << layout.fraction_bits;
  }
  const size_t fractions = sweep.count / (2 * layout.exponents());
  const uint64_t exponent_and_sign = at / fractions;
  const uint64_t fraction = FractionOf(layout, at % fractions, AnyBits(at, index));
  return exponent_and_sign << layout.fraction_bits | fraction;
}

uint64_t NearestResult(const std::string& instruction, uint64_t a, uint64_t b) {
  if (!IsPair(instruction)) return NearestOne(instruction, a, b);
  return NearestOne(instruction, a & 0xffffu, 0) | NearestOne(instruction, a >> 16, 0) << 16;
}

int64_t StepsBetween(const std::string& instruction, uint64_t a, uint64_t b) {
  const Layout layout = LayoutOf(instruction);
  if (!IsPair(instruction)) return Ordered(layout, a) - Ordered(layout, b);
  const int64_t low = Ordered(layout, a & 0xffffu) - Ordered(layout, b & 0xffffu);
  const int64_t high = Ordered(layout, a >> 16) - Ordered(layout, b >> 16);
  return std::abs(low) >= std::abs(high) ? low : high;
}

uint64_t StepFrom(const std::string& instruction, uint64_t b, int64_t steps) {
  const Layout layout = LayoutOf(instruction);
  const int64_t ordered = Ordered(layout, b) + steps;
  const uint64_t magnitude = static_cast<uint64_t>(ordered < 0 ? -ordered : ordered) << layout.unit_bits;
  return ordered < 0 ? magnitude | layout.sign() : magnitude;
}

}  // namespace fsr
