// Every approximate instruction that the simulator computes, the inputs to try it on, and what it approximates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fsr {

// Where the inputs of one sweep come from.
struct Sweep {
  enum class Kind {
    kRange,         // first, first + step, …
    kAllExponents,  // both signs of every exponent; fractions near 0, a half and 1, then any
    kPairs,         // two sources: by turns any numbers, and numbers of about the same exponent
  };
  std::string name;
  Kind kind = Kind::kRange;
  size_t count = 0;
  uint64_t first = 0, step = 1;  // kRange
};

// Values are bits of the instruction's type; those of pairs of halves are two in a word.
struct Approximation {
  std::string instruction;  // "ex2.approx.ftz.f32"
  std::vector<Sweep> sweeps;
};

// Each has a sweep over all exponents; one form of each function has every number of representative binades, too.
std::vector<Approximation> Approximations();

int SourcesOf(const std::string& instruction);  // 1 or 2
// "f32", "f64", "f16", "bf16", "f16x2" or "bf16x2".
std::string TypeNameOf(const std::string& instruction);

// Source `index` of input `at`: a function of its arguments alone.
uint64_t InputOf(const Approximation& approximation, const Sweep& sweep, size_t at, int index);

// The number nearest to the exact value, with .ftz as the instruction has it. It may be the neighbour where the exact
// value lies within 2^-29 of an ulp from the middle of two. For .ftz.f64, which gives an upper word alone: that of the
// nearest double.
uint64_t NearestResult(const std::string& instruction, uint64_t a, uint64_t b);

// Steps between neighbours from result `b` to `a`, for .ftz.f64 of the upper word. 0 and -0 are the same; so are all
// NaN, which stand beyond infinity. Of pairs of halves: those of the pair that is farther apart.
int64_t StepsBetween(const std::string& instruction, uint64_t a, uint64_t b);
// The result that is so many steps from `b`. REQUIRES: no pair of halves.
uint64_t StepFrom(const std::string& instruction, uint64_t b, int64_t steps);

}  // namespace fsr
