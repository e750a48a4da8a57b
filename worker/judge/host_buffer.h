// Host memory for the contents of a device buffer: uninitialised, since it is always written as a whole next.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace fsr {

class HostBuffer {
 public:
  HostBuffer() = default;
  explicit HostBuffer(size_t bytes) : data_(std::make_unique_for_overwrite<std::byte[]>(bytes)), size_(bytes) {}
  HostBuffer(HostBuffer&&) = default;
  HostBuffer& operator=(HostBuffer&&) = default;

  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  bool empty() const { return size_ == 0; }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_ = 0;
};

}  // namespace fsr
