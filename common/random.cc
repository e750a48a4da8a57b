#include "common/random.h"

#include <openssl/rand.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/hash.h"
#include "fmt/format.h"

namespace fsr {
namespace {

std::vector<unsigned char> RandomBytes(int count) {
  std::vector<unsigned char> bytes(static_cast<size_t>(count));
  if (RAND_bytes(bytes.data(), count) != 1) {
    // Going on with guessable leases and data would be worse than stopping.
    std::fputs("fsr: OpenSSL's random generator has no entropy; cannot go on.\n", stderr);
    std::abort();
  }
  return bytes;
}

}  // namespace

std::string RandomHex(int byte_count) {
  std::string hex;
  for (unsigned char byte : RandomBytes(byte_count)) hex += fmt::format("{:02x}", byte);
  return hex;
}

uint64_t RandomSeed() {
  uint64_t seed = 0;
  for (unsigned char byte : RandomBytes(8)) seed = (seed << 8) | byte;
  return seed;
}

uint64_t DeriveSeed(uint64_t seed, const std::string& purpose) {
  const std::string hex = FieldHasher().Add(std::to_string(seed)).Add(purpose).Hex();
  return std::strtoull(hex.substr(0, 16).c_str(), nullptr, 16);
}

}  // namespace fsr
