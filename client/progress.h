// Shows a job's events as they come: on a terminal with a line that is rewritten in place, otherwise as plain lines.
#pragma once

#include <cstdio>
#include <string>

#include "fsr/v1/search.pb.h"

namespace fsr {

class Progress {
 public:
  // `terminal`: rewrite the last line in place.
  Progress(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}
  ~Progress() { ClearStatus(); }
  Progress(const Progress&) = delete;  // owns the last line of the terminal
  Progress& operator=(const Progress&) = delete;

  void Show(const v1::Event& event);
  void Say(const std::string& line);
  void ClearStatus();

 private:
  void DrawStatus();

  std::FILE* const out_;
  const bool terminal_;
  bool status_shown_ = false;
  uint32_t round_ = 0, made_ = 0, evaluated_ = 0;
  std::string last_note_;
  std::string best_ = "nothing right yet";
};

}  // namespace fsr
