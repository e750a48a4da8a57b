#include <algorithm>
#include <array>
#include <cstdint>
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
constexpr uint64_t kTileSideMax = 256;

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

struct Region {
  std::string text;    // empty if no dimension has anything to say
  bool exact = false;  // all elements of the region are wrong
};

// What the dimensions say together.
Region DescribeDimensions(const WrongSet& wrong, std::span<const int64_t> shape) {
  const std::vector<Touched> touched = TouchedByDimension(wrong, shape);
  std::vector<std::string> parts;
  uint64_t element_count = 1;
  for (size_t d = 0; d < touched.size(); ++d) {
    std::string part = DescribeDimension(touched[d], NounOf(d, touched.size()));
    element_count *= part.empty() ? touched[d].extent : touched[d].count;
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (parts.empty()) return {};
  std::string text = fmt::format("{}", fmt::join(parts, " and "));
  if (wrong.count() == element_count) return {std::move(text), true};
  return {fmt::format("{} ({} of the {} elements there)", text, wrong.count(), element_count), false};
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
  return fmt::format("only elements with index % {} == {} in memory order", stride, first);
}

// Wrong elements in the last rows or the last columns, beyond a multiple of a block.
std::string DescribeEdges(const WrongSet& wrong, std::span<const int64_t> shape) {
  if (shape.size() < 2) return "";
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]), columns = static_cast<uint64_t>(shape.back());
  // The narrowest edges that hold all of them, and of the blocks that leave these edges the largest.
  uint64_t found = 0, row_edge = 0, column_edge = 0;
  for (uint64_t block = kTileEdgeMin; block <= kTileSideMax; block *= 2) {
    const uint64_t last_row = rows - rows % block, last_column = columns - columns % block;
    if (last_row == 0 || last_column == 0 || last_row == rows || last_column == columns) continue;
    if (found != 0 && (last_row != row_edge || last_column != column_edge)) break;
    if (!wrong.ForEach(
            [&](uint64_t index) { return index % columns >= last_column || index / columns % rows >= last_row; })) {
      continue;
    }
    found = block;
    row_edge = last_row;
    column_edge = last_column;
  }
  if (found == 0) return "";
  return fmt::format(
      "only the last {} of {} rows and the last {} of {} columns, beyond the last multiples of {} (a block's edges)",
      rows - row_edge, rows, columns - column_edge, columns, found);
}

// The diagonal of each matrix, one side of it, or all but it.
std::string DescribeDiagonal(const WrongSet& wrong, std::span<const int64_t> shape, uint64_t element_count) {
  if (shape.size() < 2) return "";
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]), columns = static_cast<uint64_t>(shape.back());
  if (rows < 2 || columns < 2) return "";
  uint64_t on = 0, above = 0, below = 0;  // wrong ones
  wrong.ForEach([&](uint64_t index) {
    const uint64_t row = index / columns % rows, column = index % columns;
    ++(row == column ? on : row < column ? above : below);
    return true;
  });
  const uint64_t matrices = element_count / (rows * columns), side = std::min(rows, columns);
  const uint64_t all_on = matrices * side;
  // Right of the diagonal lie columns - 1, columns - 2, … elements.
  const uint64_t all_above = matrices * (side * (columns - 1) - side * (side - 1) / 2);
  const uint64_t all_below = element_count - all_on - all_above;
  const std::array<uint64_t, 3> counts{on, above, below};
  if (counts == std::array<uint64_t, 3>{all_on, 0, 0}) return "only the diagonal";
  if (counts == std::array<uint64_t, 3>{0, all_above, 0}) return "only the elements above the diagonal";
  if (counts == std::array<uint64_t, 3>{0, 0, all_below}) return "only the elements below the diagonal";
  if (counts == std::array<uint64_t, 3>{0, all_above, all_below}) return "all elements but those on the diagonal";
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
  const Region region = DescribeDimensions(wrong, shape);
  if (region.exact) return region.text;
  // The exact claims first, then those that say only where to look.
  if (std::string text = DescribeDiagonal(wrong, shape, element_count); !text.empty()) return text;
  if (std::string text = DescribeMemoryOrder(wrong, element_count); shape.size() > 1 && !text.empty()) return text;
  if (std::string text = DescribeTiles(wrong, shape); !text.empty()) return text;
  if (!region.text.empty()) return region.text;
  return DescribeEdges(wrong, shape);
}

}  // namespace fsr
