// Content addresses.
#pragma once

#include <string>
#include <string_view>

namespace fsr {

// SHA-256 as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

// SHA-256 over several fields, each preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
class FieldHasher {
 public:
  FieldHasher& Add(std::string_view field);
  std::string Hex() const;

 private:
  std::string bytes_;
};

}  // namespace fsr
