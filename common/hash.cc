#include "common/hash.h"

#include <openssl/sha.h>

#include <cstdint>

namespace fsr {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * sizeof(digest));
  for (unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

FieldHasher& FieldHasher::Add(std::string_view field) {
  const uint64_t size = field.size();
  for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(size >> (8 * i)));
  bytes_.append(field);
  return *this;
}

std::string FieldHasher::Hex() const { return Sha256Hex(bytes_); }

}  // namespace fsr
