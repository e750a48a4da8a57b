// What the files of Store's methods share. The SQL of a method stands beside it.
#pragma once

#include <memory>
#include <utility>

#include "common/clock.h"
#include "server/store/change_signal.h"
#include "server/store/database.h"
#include "server/store/store.h"

namespace fsr {

// Safe for concurrent use.
class Store::Impl {
 public:
  Impl(std::unique_ptr<Database> database, Clock* clock, Options options)
      : options_(options), clock_(clock), database_(std::move(database)), changes_(clock) {}

  // Database::Write; those who wait are told once it is committed.
  template <typename Body>
  auto Write(Body&& body) {
    bool changed = false;
    auto result = database_->Write(std::forward<Body>(body), &changed);
    if (changed) changes_.Notify();
    return result;
  }
  template <typename Body>
  auto Read(Body&& body) {
    return database_->Read(std::forward<Body>(body));
  }

  int64_t NowMicros() { return absl::ToUnixMicros(clock_->Now()); }
  const Options& options() const { return options_; }
  ChangeSignal& changes() { return changes_; }

 private:
  const Options options_;
  Clock* const clock_;
  const std::unique_ptr<Database> database_;
  ChangeSignal changes_;
};

}  // namespace fsr
