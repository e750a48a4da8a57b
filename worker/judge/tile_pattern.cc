#include "worker/judge/tile_pattern.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "fmt/format.h"

namespace fsr {
namespace {

constexpr uint64_t kTileMin = 8;
constexpr uint64_t kTileMax = 1024;     // of one dimension: no block has more threads
constexpr uint64_t kTileSideMax = 128;  // of two

struct Grid {
  uint64_t rows = 1, columns = 1;            // of the matrix
  uint64_t tile_rows = 1, tile_columns = 1;  // of a tile
  uint64_t TilesDown() const { return (rows + tile_rows - 1) / tile_rows; }
  uint64_t TilesAcross() const { return (columns + tile_columns - 1) / tile_columns; }
};

struct Found {
  uint64_t wrong_tiles = 0, tiles = 0;
  uint64_t first_row = 0, first_column = 0;
};

// Closes the row of tiles whose wrong elements by tile are `counts`; `tile_row` counts over all matrices. False if a
// tile is wrong only in part.
bool CloseTileRow(const Grid& grid, uint64_t tile_row, std::vector<uint64_t>& counts, Found& found) {
  const uint64_t first_row = tile_row % grid.TilesDown() * grid.tile_rows;
  const uint64_t height = std::min(grid.tile_rows, grid.rows - first_row);
  for (uint64_t t = 0; t < counts.size(); ++t) {
    if (counts[t] == 0) continue;
    const uint64_t width = std::min(grid.tile_columns, grid.columns - t * grid.tile_columns);
    if (counts[t] != height * width) return false;
    if (found.wrong_tiles++ == 0) {
      found.first_row = tile_row / grid.TilesDown() * grid.rows + first_row;
      found.first_column = t * grid.tile_columns;
    }
    counts[t] = 0;
  }
  return true;
}

// `element_count` may be several matrices, one after another.
std::optional<Found> TryGrid(const WrongSet& wrong, uint64_t element_count, const Grid& grid) {
  Found found{.tiles = grid.TilesDown() * grid.TilesAcross() * (element_count / (grid.rows * grid.columns))};
  std::vector<uint64_t> counts(grid.TilesAcross());
  uint64_t open = 0;  // the row of tiles being counted
  const bool whole = wrong.ForEach([&](uint64_t index) {
    const uint64_t row = index / grid.columns;
    const uint64_t tile_row = row / grid.rows * grid.TilesDown() + row % grid.rows / grid.tile_rows;
    if (tile_row != open && !CloseTileRow(grid, open, counts, found)) return false;
    open = tile_row;
    ++counts[index % grid.columns / grid.tile_columns];
    return true;
  });
  if (!whole || !CloseTileRow(grid, open, counts, found)) return std::nullopt;
  return found;
}

}  // namespace

std::string DescribeTiles(const WrongSet& wrong, std::span<const int64_t> shape) {
  uint64_t element_count = 1;
  for (const int64_t extent : shape) element_count *= static_cast<uint64_t>(extent);
  if (shape.size() == 1) {
    for (uint64_t tile = kTileMax; tile >= kTileMin; tile /= 2) {
      if (element_count <= tile) continue;
      const auto found = TryGrid(wrong, element_count, {1, element_count, 1, tile});
      if (!found) continue;
      return fmt::format("whole blocks of {} elements, {} of {}, the first from element {} on", tile,
                         found->wrong_tiles, found->tiles, found->first_column);
    }
    return "";
  }
  const auto rows = static_cast<uint64_t>(shape[shape.size() - 2]), columns = static_cast<uint64_t>(shape.back());
  for (uint64_t tile = kTileSideMax; tile >= kTileMin; tile /= 2) {
    if (rows < tile || columns < tile || element_count == tile * tile) continue;
    const auto found = TryGrid(wrong, element_count, {rows, columns, tile, tile});
    if (!found) continue;
    const std::string where = shape.size() == 2 ? "" : " (rows counted over all matrices)";
    return fmt::format("whole {}x{} tiles, {} of {}, the first at row {}, column {}{}", tile, tile, found->wrong_tiles,
                       found->tiles, found->first_row, found->first_column, where);
  }
  return "";
}

}  // namespace fsr
