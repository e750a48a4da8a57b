// Randomness as a dependency.
#pragma once

#include <cstdint>
#include <string>

namespace fsr {

// Unguessable bits, as lower-case hexadecimal digits, from OpenSSL's generator: lease ids, boot ids, request ids.
std::string RandomHex(int byte_count);

// Unguessable seeds: the data of an evaluation must not be predictable by a kernel.
uint64_t RandomSeed();

// A seed derived from another and a purpose, the same every time (the first 8 bytes of a SHA-256).
uint64_t DeriveSeed(uint64_t seed, const std::string& purpose);

// Sebastiano Vigna's splitmix64: small, fast, and the same on every platform, for data and for search decisions.
class SplitMix64 {
 public:
  using result_type = uint64_t;
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }
  uint64_t operator()() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * bound) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace fsr
