#include "worker/judge/poison.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "common/element_type.h"
#include "worker/judge/host_buffer.h"

namespace fsr {
namespace {

double ValueAt(const Poison& poison, uint64_t index) {
  const uint64_t bits = poison.BitsAt(index);
  return LoadAsDouble(poison.type(), &bits);
}

constexpr v1::ElementType kFloats[] = {v1::F16, v1::BF16, v1::F32, v1::F64};
constexpr v1::ElementType kIntegers[] = {v1::I8, v1::I16, v1::I32, v1::I64, v1::U8, v1::U16, v1::U32, v1::U64};

TEST_CASE("the first poison of floats is NaN, the second finite and of both signs near the end of the range") {
  const std::map<v1::ElementType, double> largest{
      {v1::F16, 65504}, {v1::BF16, 3.3895e38}, {v1::F32, 3.4028e38}, {v1::F64, 1.797e308}};
  for (const v1::ElementType type : kFloats) {
    CAPTURE(NameOf(type));
    for (uint64_t seed = 0; seed < 300; ++seed) {
      const Poison invalid(type, PoisonKind::kInvalid, seed), extreme(type, PoisonKind::kExtreme, seed);
      REQUIRE(std::isnan(ValueAt(invalid, 0)));
      REQUIRE(std::isnan(ValueAt(invalid, 1)));
      REQUIRE(ValueAt(extreme, 0) >= largest.at(type) / 2.01);
      REQUIRE(ValueAt(extreme, 0) <= largest.at(type) * 1.0001);
      REQUIRE(ValueAt(extreme, 1) <= -largest.at(type) / 2.01);
    }
  }
}

TEST_CASE("integers are poisoned near both ends of their type") {
  for (const v1::ElementType type : {v1::I8, v1::I16, v1::I32, v1::I64}) {
    const Poison extreme(type, PoisonKind::kExtreme, 3);
    const double half = std::ldexp(1.0, static_cast<int>(SizeOf(type)) * 8 - 1);
    CHECK(ValueAt(extreme, 0) >= half * 0.87);
    CHECK(ValueAt(extreme, 1) <= -half * 0.87);
  }
  CHECK(ValueAt(Poison(v1::U8, PoisonKind::kExtreme, 3), 0) >= 240);
  CHECK(ValueAt(Poison(v1::U8, PoisonKind::kExtreme, 3), 1) < 16);
}

TEST_CASE("poison differs run by run, and the two kinds share no value") {
  for (const auto& types : {std::vector<v1::ElementType>(std::begin(kFloats), std::end(kFloats)),
                            std::vector<v1::ElementType>(std::begin(kIntegers), std::end(kIntegers))}) {
    for (const v1::ElementType type : types) {
      CAPTURE(NameOf(type));
      std::set<uint64_t> invalid, extreme;
      for (uint64_t seed = 0; seed < 100; ++seed) {
        for (uint64_t index = 0; index < 2; ++index) {
          invalid.insert(Poison(type, PoisonKind::kInvalid, seed).BitsAt(index));
          extreme.insert(Poison(type, PoisonKind::kExtreme, seed).BitsAt(index));
        }
      }
      CHECK(invalid.size() > 20);
      CHECK(extreme.size() > 20);
      for (const uint64_t bits : invalid) REQUIRE_FALSE(extreme.contains(bits));
    }
  }
}

TEST_CASE("a filled buffer holds poison in every element, and each that is overwritten is missed") {
  for (const size_t count : {0u, 1u, 2u, 3u, 1000u, 1001u}) {
    const Poison poison(v1::F16, PoisonKind::kInvalid, 9);
    HostBuffer buffer(count * 2);
    poison.Fill(buffer.bytes());
    CHECK(poison.CountIn(buffer.bytes()) == count);
    if (count == 0) continue;
    buffer.bytes()[(count - 1) * 2] ^= std::byte{1};
    CHECK(poison.CountIn(buffer.bytes()) == count - 1);
  }
}

}  // namespace
}  // namespace fsr
