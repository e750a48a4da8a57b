#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "worker/judge/pattern.h"
#include "worker/judge/tile_pattern.h"

namespace fsr {
namespace {

// A start or block that is a multiple of less than this is no sign of a tile.
constexpr uint64_t kTileEdgeMin = 8;

// What one coordinate of a dimension is called: singular and plural.
struct Noun {
  std::string one, many;
};

Noun NounOf(size_t dimension, size_t rank) {
  if (rank == 1) return {"element", "elements"};
  if (dimension + 1 == rank) return {"column", "columns"};
  if (dimension + 2 == rank) return {"row", "rows"};
  return {fmt::format("index of dimension {}", dimension), fmt::format("indices of dimension {}", dimension)};
}

// The coordinates of one dimension at which something is wrong.
struct Touched {
  uint64_t extent = 0, count = 0, first = 0, last = 0;
  std::vector<bool> at;
};

Touched Summarize(std::vector<bool> at) {
  Touched touched{.extent = at.size(), .at = std::move(at)};
  for (uint64_t c = 0; c < touched.extent; ++c) {
    if (!touched.at[c]) continue;
    if (touched.count++ == 0) touched.first = c;
    touched.last = c;
  }
  return touched;
}

std::vector<Touched> TouchedByDimension(const WrongSet& wrong, std::span<const int64_t> shape) {
  std::vector<std::vector<bool>> at;
  for (const int64_t extent : shape) at.emplace_back(static_cast<size_t>(extent), false);
  const auto inner = static_cast<uint64_t>(shape.back());
  uint64_t row = ~uint64_t{0};
  wrong.ForEach([&](uint64_t index) {
    at.back()[index % inner] = true;
    if (index / inner == row) return true;  // the outer coordinates are those of the element before
    row = index / inner;
    uint64_t rest = row;
    for (size_t d = shape.size() - 1; d-- > 0;) {
      at[d][rest % static_cast<uint64_t>(shape[d])] = true;
      rest /= static_cast<uint64_t>(shape[d]);
    }
    return true;
  });
  std::vector<Touched> touched;
  for (auto& coordinates : at) touched.push_back(Summarize(std::move(coordinates)));
  return touched;
}

// The largest power of two that divides `value`, which is above 0.
uint64_t PowerOfTwoIn(uint64_t value) { return value & (~value + 1); }

// "only the last 36 of 100 columns, those beyond the last multiple of 64": the end from `start` on.
std::string DescribeTail(uint64_t start, uint64_t extent, const Noun& noun) {
  const uint64_t count = extent - start, block = PowerOfTwoIn(start);
  std::string text = count == 1 ? fmt::format("only the last of {} {}", extent, noun.many)
                                : fmt::format("only the last {} of {} {}", count, extent, noun.many);
  if (block < kTileEdgeMin) return text;
  if (count < block) return fmt::format("{}, beyond the last multiple of {} (a block's edge)", text, block);
  return fmt::format("{}, from {} {} on, a multiple of {}", text, noun.one, start, block);
}

// The distance if they are every k-th coordinate, from the first possible one to the last.
std::optional<uint64_t> StrideOf(const Touched& touched) {
  if (touched.count < 3) return std::nullopt;
  uint64_t stride = 1;
  while (!touched.at[touched.first + stride]) ++stride;
  if (stride < 2 || touched.first >= stride || touched.last + stride < touched.extent) return std::nullopt;
  if ((touched.last - touched.first) / stride + 1 != touched.count) return std::nullopt;
  for (uint64_t c = touched.first; c <= touched.last; c += stride) {
    if (!touched.at[c]) return std::nullopt;
  }
  return stride;
}

// What is special about the touched coordinates of one dimension; empty if nothing is.
std::string DescribeDimension(const Touched& touched, const Noun& noun) {
  if (touched.count == touched.extent) return "";
  if (const auto stride = StrideOf(touched)) {
    return fmt::format("only {} with index % {} == {}", noun.many, *stride, touched.first);
  }
  if (touched.last - touched.first + 1 != touched.count) return "";
  if (touched.last + 1 == touched.extent) return DescribeTail(touched.first, touched.extent, noun);
  if (touched.first == 0) {
    return touched.count == 1 ? fmt::format("only the first of {} {}", touched.extent, noun.many)
                              : fmt::format("only the first {} of {} {}", touched.count, touched.extent, noun.many);
  }
  if (touched.count == 1) return fmt::format("only {} {} of {}", noun.one, touched.first, touched.extent);
  return fmt::format("only {} {} to {} of {}", noun.many, touched.first, touched.last, touched.extent);
}

std::string DescribeDimensions(const WrongSet& wrong, std::span<const Touched> touched) {
  std::vector<std::string> parts;
  uint64_t region = 1;
  for (size_t d = 0; d < touched.size(); ++d) {
    region *= touched[d].count;
    std::string part = DescribeDimension(touched[d], NounOf(d, touched.size()));
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (parts.empty()) return "";
  const std::string text = fmt::format("{}", fmt::join(parts, " and "));
  if (wrong.count() == region) return text;
  return fmt::format("{} ({} of the {} elements there)", text, wrong.count(), region);
}

// True if the touched coordinates of the dimensions are exactly the wrong elements.
bool IsRegion(const WrongSet& wrong, std::span<const Touched> touched) {
  uint64_t region = 1;
  for (const Touched& dimension : touched) region *= dimension.count;
  return region == wrong.count();
}

// The buffer as one line of elements, for shapes with more than one dimension.
std::string DescribeMemoryOrder(const WrongSet& wrong, uint64_t element_count) {
  uint64_t first = 0, last = 0, second = 0, seen = 0;
  wrong.ForEach([&](uint64_t index) {
    if (seen == 0) first = index;
    if (seen == 1) second = index;
    ++seen;
    last = index;
    return true;
  });
  if (last - first + 1 == wrong.count()) {
    const Noun noun{"element", "elements in memory order"};
    if (last + 1 == element_count) return DescribeTail(first, element_count, noun);
    if (first == 0) return fmt::format("only the first {} of {} {}", wrong.count(), element_count, noun.many);
    return fmt::format("one contiguous range in memory, elements {} to {} of {}", first, last, element_count);
  }
  if (wrong.count() < 3) return "";
  const uint64_t stride = second - first;
  if (first >= stride || last + stride < element_count) return "";
  if (!wrong.ForEach([&](uint64_t index) { return index % stride == first; })) return "";
  if ((last - first) / stride + 1 != wrong.count()) return "";
  return fmt::format("every {}th element in memory order, from element {} on", stride, first);
}

// Wrong elements in the last rows or the last columns, beyond a multiple of a block.
std::string DescribeEdges(const WrongSet& wrong, std::span<const int64_t> shape) {
  if (shape.size() < 2) return "";
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]), columns = static_cast<uint64_t>(shape.back());
  for (uint64_t block = 256; block >= kTileEdgeMin; block /= 2) {
    const uint64_t row_edge = rows - rows % block, column_edge = columns - columns % block;
    if (row_edge == 0 || column_edge == 0 || row_edge == rows || column_edge == columns) continue;
    if (wrong.ForEach(
            [&](uint64_t index) { return index % columns >= column_edge || index / columns % rows >= row_edge; })) {
      return fmt::format(
          "only the last {} of {} rows and the last {} of {} columns, beyond the last multiples of {} "
          "(a block's edges)",
          rows - row_edge, rows, columns - column_edge, columns, block);
    }
  }
  return "";
}

std::string DescribeDiagonal(const WrongSet& wrong, std::span<const int64_t> shape) {
  if (shape.size() < 2 || wrong.count() < 3) return "";
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]), columns = static_cast<uint64_t>(shape.back());
  using Relation = std::function<bool(uint64_t, uint64_t)>;
  const std::array<std::pair<const char*, Relation>, 4> relations{{
      {"only the diagonal", std::equal_to<uint64_t>()},
      {"only elements above the diagonal", std::less<uint64_t>()},
      {"only elements below the diagonal", std::greater<uint64_t>()},
      {"only elements off the diagonal", std::not_equal_to<uint64_t>()},
  }};
  for (const auto& [text, relation] : relations) {
    if (wrong.ForEach([&](uint64_t index) { return relation(index / columns % rows, index % columns); })) return text;
  }
  return "";
}

}  // namespace

std::string DescribeWhere(const WrongSet& wrong, std::span<const int64_t> shape) {
  uint64_t element_count = 1;
  for (const int64_t extent : shape) element_count *= static_cast<uint64_t>(extent);
  if (wrong.count() == element_count) return "every element";
  if (wrong.count() == 1) {
    std::vector<uint64_t> position;
    wrong.ForEach([&](uint64_t index) {
      position = PositionOf(index, shape);
      return true;
    });
    return fmt::format("a single element, at [{}]", fmt::join(position, ", "));
  }
  const std::vector<Touched> touched = TouchedByDimension(wrong, shape);
  const std::string by_dimension = DescribeDimensions(wrong, touched);
  if (!by_dimension.empty() && IsRegion(wrong, touched)) return by_dimension;
  // The exact claims first, then those that say only where to look.
  if (std::string text = DescribeMemoryOrder(wrong, element_count); shape.size() > 1 && !text.empty()) return text;
  if (std::string text = DescribeTiles(wrong, shape); !text.empty()) return text;
  if (!by_dimension.empty()) return by_dimension;
  if (std::string text = DescribeEdges(wrong, shape); !text.empty()) return text;
  return DescribeDiagonal(wrong, shape);
}

}  // namespace fsr
