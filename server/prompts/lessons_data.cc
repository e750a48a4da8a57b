#include <fmt/format.h>

#include "server/prompts/prompt_data.h"

namespace fsr {

void AddLessons(const JobFacts& facts, PromptData* data) {
  size_t left = kLessonsBytesMax;
  const auto take = [&left](const std::string& text) {
    if (text.empty() || text.size() > left) return false;
    left -= text.size();
    return true;
  };
  std::vector<const v1::Lesson*> shown;
  for (const v1::Lesson& lesson : facts.lessons) {
    if (take(lesson.text())) shown.push_back(&lesson);
  }
  PromptData rows(PromptData::type::list);
  for (const v1::Lesson* lesson : shown) {
    PromptData row;
    row.set("lesson_task", lesson->task());
    row.set("lesson_device", lesson->device_kind());
    row.set("lesson_speedup", fmt::format("{:.3g}", lesson->speedup()));
    row.set("lesson_how", lesson->estimated() ? "estimated by a simulator, not measured" : "measured");
    row.set("lesson_text", lesson->text());
    // What is left of the bytes goes to the code, that of the most relevant first.
    row.set("lesson_code", false);
    if (take(lesson->source())) row.set("lesson_code", CodeText(lesson->source()));
    rows.push_back(row);
  }
  data->set("has_lessons", !shown.empty());
  data->set("lessons_shown", rows);
}

}  // namespace fsr
