#include "worker/device/sim/grid.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>

namespace fsr::sim {
namespace {

// Turns in a row that brought nothing, for each block at hand, after which another block is started.
constexpr size_t kIdleTurnsPerBlock = 2;
// A block that runs for so many rounds gives the others a turn, since it may be waiting in a way that does not show.
constexpr int kRoundsPerTurn = 1024;
// The clock is read once in so many rounds.
constexpr int kRoundsPerClockRead = 16;

// What the threads of a launch share.
struct Shared {
  const LaunchContext& context;
  const GridOptions& options;
  uint64_t block_count;
  uint64_t sample_stride;
  std::atomic<uint64_t> next_block{0};
  std::atomic<uint64_t> resident{0};
  std::atomic<bool> stop{false};
};

// Runs blocks on one thread.
class Runner {
 public:
  explicit Runner(Shared& shared)
      : shared_(shared),
        counts_(shared.context.program->steps.size()),
        tally_(shared.options.estimate ? new Tally : nullptr) {}

  void Run() {
    while (!shared_.stop.load(std::memory_order_relaxed)) {
      if (current_ == nullptr && !TakeBlock()) return;
      if (++rounds_ % kRoundsPerClockRead == 0 && shared_.options.clock->Now() >= shared_.options.deadline) {
        Stop(current_->DescribeTimeout());
        return;
      }
      switch (current_->RunRound()) {
        case BlockProgress::kFinished:
          Finish();
          break;
        case BlockProgress::kRan:
          idle_turns_ = 0;
          if (++rounds_of_turn_ == kRoundsPerTurn) PassTurn(/*start_another=*/true);
          break;
        case BlockProgress::kStalled:
          ++idle_turns_;
          PassTurn(idle_turns_ > (aside_.size() + 1) * kIdleTurnsPerBlock);
          break;
        case BlockProgress::kFault:
          Stop(*current_->fault());
          return;
      }
    }
  }

  const std::optional<FaultNote>& fault() const { return fault_; }
  const std::vector<uint64_t>& counts() const { return counts_; }
  const std::vector<BlockEvents>& events() const { return events_; }
  const Tally* tally() const { return tally_.get(); }

 private:
  // A block that was put aside, or else the next one that has not started. False: none is left.
  bool TakeBlock() {
    if (aside_.empty()) return StartBlock();
    ResumeOldest();
    return true;
  }

  void ResumeOldest() {
    current_ = std::move(aside_.front());
    aside_.pop_front();
    rounds_of_turn_ = 0;
  }

  bool StartBlock() {
    if (shared_.resident.fetch_add(1) >= shared_.options.resident_blocks_max) {
      shared_.resident.fetch_sub(1);
      return false;
    }
    const uint64_t index = shared_.next_block.fetch_add(1);
    if (index >= shared_.block_count) {
      shared_.resident.fetch_sub(1);
      return false;
    }
    if (free_.empty()) {
      current_ = std::make_unique<Block>();
    } else {
      current_ = std::move(free_.back());
      free_.pop_back();
    }
    current_->Start(&shared_.context, index, counts_.data(), tally_.get());
    rounds_of_turn_ = 0;
    return true;
  }

  void Finish() {
    if (tally_ != nullptr && current_->index % shared_.sample_stride == 0) events_.push_back(current_->events());
    shared_.resident.fetch_sub(1);
    free_.push_back(std::move(current_));
    idle_turns_ = 0;
  }

  // The current block goes to the end of the queue. What it waits for may be a block at hand, one on another thread, or
  // one that has not started.
  void PassTurn(bool start_another) {
    aside_.push_back(std::move(current_));
    if (start_another) {
      idle_turns_ = 0;
      std::this_thread::yield();
      if (StartBlock()) return;
    }
    ResumeOldest();
  }

  void Stop(FaultNote fault) {
    fault_ = std::move(fault);
    shared_.stop.store(true);
  }

  Shared& shared_;
  std::vector<uint64_t> counts_;
  std::unique_ptr<Tally> tally_;
  std::unique_ptr<Block> current_;
  std::deque<std::unique_ptr<Block>> aside_;
  std::vector<std::unique_ptr<Block>> free_;
  std::vector<BlockEvents> events_;
  std::optional<FaultNote> fault_;
  size_t idle_turns_ = 0;   // in a row
  int rounds_of_turn_ = 0;  // of the current block
  int rounds_ = 0;
};

GridResult Collect(const Shared& shared, const std::vector<std::unique_ptr<Runner>>& runners) {
  GridResult result;
  result.counts.resize(shared.context.program->steps.size());
  SectorSet read, written, atomic;
  for (const std::unique_ptr<Runner>& runner : runners) {
    for (size_t i = 0; i < result.counts.size(); ++i) result.counts[i] += runner->counts()[i];
    // Of several faults the one of the lowest block, so that a repeated run most likely names the same.
    const std::optional<FaultNote>& fault = runner->fault();
    if (fault.has_value() && (!result.fault.has_value() || fault->block_number < result.fault->block_number)) {
      result.fault = fault;
    }
    if (runner->tally() == nullptr) continue;
    result.blocks.insert(result.blocks.end(), runner->events().begin(), runner->events().end());
    read.Merge(runner->tally()->read());
    written.Merge(runner->tally()->written());
    atomic.Merge(runner->tally()->atomic());
    result.touched.l1_filtered_load_sectors += runner->tally()->l1_misses();
  }
  result.touched.read = read.Count();
  result.touched.written = written.Count();
  result.touched.atomic = atomic.Count();
  return result;
}

}  // namespace

GridResult RunGrid(const LaunchContext& context, const GridOptions& options) {
  const uint64_t block_count = uint64_t{context.grid[0]} * context.grid[1] * context.grid[2];
  Shared shared{context, options, block_count, (block_count + kBlocksSampledMax - 1) / kBlocksSampledMax};
  const uint64_t thread_count = std::clamp<uint64_t>(block_count, 1, options.thread_count);
  std::vector<std::unique_ptr<Runner>> runners;
  for (uint64_t i = 0; i < thread_count; ++i) runners.push_back(std::make_unique<Runner>(shared));
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i < thread_count; ++i) threads.emplace_back([&runners, i] { runners[i]->Run(); });
  runners[0]->Run();
  for (std::thread& thread : threads) thread.join();
  return Collect(shared, runners);
}

}  // namespace fsr::sim
