#include "worker/judge/elements.h"

#include <array>
#include <memory>

namespace fsr {

const float* HalfTable() {
  static const auto* const table = [] {
    auto* values = new std::array<float, 65536>;
    for (uint32_t bits = 0; bits < values->size(); ++bits) (*values)[bits] = HalfToFloat(static_cast<uint16_t>(bits));
    return values;
  }();
  return table->data();
}

}  // namespace fsr
