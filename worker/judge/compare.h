// An output against the oracle's: every element, exactly by the rule of Tolerance (proto/fsr/v1/task.proto).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fsr/v1/evaluation.pb.h"
#include "fsr/v1/task.pb.h"
#include "worker/judge/poison.h"

namespace fsr {

inline constexpr int kMismatchFirstMax = 8;

// Which elements are wrong: a bit each.
class WrongSet {
 public:
  void Add(uint64_t index, uint64_t element_count) {
    if (words_.empty()) words_.resize((element_count + 63) / 64);
    words_[index / 64] |= uint64_t{1} << (index % 64);
    ++count_;
  }
  bool Contains(uint64_t index) const { return !words_.empty() && ((words_[index / 64] >> (index % 64)) & 1) != 0; }
  uint64_t count() const { return count_; }

  // Calls `visit(index)` in ascending order until it returns false. True if it never did.
  template <typename Visit>
  bool ForEach(const Visit& visit) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t rest = words_[word]; rest != 0; rest &= rest - 1) {
        if (!visit(word * 64 + static_cast<uint64_t>(std::countr_zero(rest)))) return false;
      }
    }
    return true;
  }

 private:
  std::vector<uint64_t> words_;
  uint64_t count_ = 0;
};

// Two buffers of one type and size. `poison` is what `got` held before the launch; null if it was no output (INOUT).
struct ComparedBuffers {
  v1::ElementType type = v1::F32;
  std::span<const std::byte> got, expected;
  const Poison* poison = nullptr;
};

struct BufferComparison {
  uint64_t compared_count = 0;
  uint64_t nan_count = 0;             // wrong and NaN
  uint64_t unwritten_count = 0;       // wrong and still the poison
  uint64_t worst_index = 0;           // meaningful if something is wrong
  double largest_absolute_error = 0;  // of the elements, right or wrong, where both values are finite
  WrongSet wrong;
};

// REQUIRES: equal sizes, whole elements.
BufferComparison CompareBuffers(const ComparedBuffers& buffers, const v1::Tolerance& tolerance);

// The comparison as it is reported, without `pattern`. REQUIRES: something is wrong.
v1::Mismatch MismatchOf(const BufferComparison& comparison, const ComparedBuffers& buffers,
                        const std::string& parameter, std::span<const int64_t> shape);

// Row-major coordinates of element `index`.
std::vector<uint64_t> PositionOf(uint64_t index, std::span<const int64_t> shape);

}  // namespace fsr
