// Runs single instructions on lanes of awkward values and compares every lane with a model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "worker/device/sim/alu.h"

namespace fsr::sim {

// "d a b" are registers, "_" a sink, "#255" an immediate, "p|q" a register with a second one, "!p" a negated one and
// "{4}" a vector of four registers.
ptx::Instruction MakeInstruction(const std::string& full, const std::string& operands);

// The operation of an instruction that must be known.
AluOperation Find(const std::string& full, const std::string& operands);

// Lane values of one source: `awkward` ones and random ones, all of `bits` bits.
struct Pool {
  int bits;
  std::vector<uint64_t> awkward;
};
Pool IntegerPool(int bits);
Pool ShiftPool();  // 32-bit counts, around every width
Pool FloatPool(int exponent_bits, int fraction_bits);
Pool PairPool(const Pool& half);  // two values in a word
inline Pool F32Pool() { return FloatPool(8, 23); }
inline Pool F64Pool() { return FloatPool(11, 52); }
inline Pool F16Pool() { return FloatPool(5, 10); }
inline Pool BF16Pool() { return FloatPool(8, 7); }

uint64_t Draw(const Pool& pool, std::mt19937_64& random);

struct WarpInputs {
  LaneMask mask = kFullMask;
  std::vector<Lanes> sources;
  std::array<LaneMask, 2> source_predicates{};
  LaneMask carry = 0;
};
struct WarpOutputs {
  std::array<Lanes, 4> destinations;
  LaneMask predicate, second_predicate, carry;
};
// What every output holds before: lanes that do not take part must keep it.
inline constexpr uint64_t kOldLane = 0x0123456789abcdefu;
inline constexpr LaneMask kOldPredicate = 0x5a5a5a5au;

WarpOutputs Run(const AluOperation& operation, const WarpInputs& inputs);

using Values = std::vector<uint64_t>;
using Model = std::function<uint64_t(const Values&)>;
// Some results are right in more than one way, or are checked by a property.
using Check = std::function<bool(const Values&, uint64_t result)>;

// One destination, one source per pool; further `operands` (after the sources) as in MakeInstruction. Whole and partial
// masks, garbage above the width of every source, and destinations that are the first source.
void CheckEach(const std::string& full, const std::vector<Pool>& pools, const Check& check,
               const std::string& further_operands = "");
void CompareEach(const std::string& full, const std::vector<Pool>& pools, const Model& model,
                 const std::string& further_operands = "");

// The same for one predicate result (setp, testp) with an optional source predicate.
using PredicateModel = std::function<bool(const Values&, bool source_predicate)>;
void ComparePredicate(const std::string& full, const std::string& operands, const std::vector<Pool>& pools,
                      const PredicateModel& first, const PredicateModel& second = nullptr);

float F(uint64_t bits);
double D(uint64_t bits);
uint64_t Bits(float value);
uint64_t Bits(double value);

}  // namespace fsr::sim
