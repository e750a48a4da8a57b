#include "worker/judge/elements.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace fsr {
namespace {

// Of two neighbours of the format the nearer one, at equal distance the one with an even last bit.
template <typename Element>
uint16_t NearestOf(const Element& element, uint16_t below, double value) {
  const auto above = static_cast<uint16_t>(below + 1);
  const double down = value - element.ToDouble(below), up = element.ToDouble(above) - value;
  if (down == up) return below % 2 == 0 ? below : above;
  return down < up ? below : above;
}

template <typename Element>
void CheckRounding(const Element& element, uint16_t largest) {
  for (uint16_t bits = 0; bits < largest; ++bits) {
    const double low = element.ToDouble(bits), high = element.ToDouble(static_cast<uint16_t>(bits + 1));
    REQUIRE(element.FromDouble(low) == bits);
    for (const double share : {0.25, 0.5, 0.75}) {  // exact in a float, too
      const double value = low + share * (high - low);
      REQUIRE(element.FromDouble(value) == NearestOf(element, bits, value));
      REQUIRE(element.FromDouble(-value) == (NearestOf(element, bits, value) | 0x8000));
    }
  }
  CHECK(element.FromDouble(element.ToDouble(largest)) == largest);
  CHECK(std::isinf(element.ToDouble(element.FromDouble(std::numeric_limits<double>::infinity()))));
  CHECK(std::isinf(element.ToDouble(element.FromDouble(1e300))));
  CHECK(std::isnan(element.ToDouble(element.FromDouble(std::numeric_limits<double>::quiet_NaN()))));
}

TEST_CASE("a double becomes the nearest half, to even at a tie, through the whole range") {
  CheckRounding(HalfElement{}, 0x7bff);
}

TEST_CASE("a double becomes the nearest bfloat16, to even at a tie, through the whole range") {
  CheckRounding(Bfloat16Element{}, 0x7f7f);
}

}  // namespace
}  // namespace fsr
