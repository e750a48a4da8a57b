// tasks: those in folders of this machine, or, with --server, those that jobs were handed in for.
#include <fmt/format.h>

#include <map>

#include "client/commands.h"
#include "common/files.h"
#include "common/status.h"
#include "common/task_loader.h"

namespace fsr {
namespace {

// Task folders below `folder`, by name; a folder that does not load is told with its reason.
void Collect(const std::filesystem::path& folder, std::map<std::string, std::string>& descriptions) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (!std::filesystem::is_regular_file(entry.path() / "task.yaml", ignored)) continue;
    auto task = LoadTask(entry.path());
    descriptions.emplace(entry.path().filename().string(),
                         task.ok() ? task->description() : "does not load: " + MessageOf(task.status()));
  }
}

}  // namespace

int TasksCommand(Session& session) {
  v1::ListTasksResponse answer;
  if (session.local()) {
    std::map<std::string, std::string> descriptions;
    Collect("tasks", descriptions);
    if (auto data = DataFolder(); data.ok()) Collect(*data / "tasks", descriptions);
    for (const auto& [name, description] : descriptions) {
      auto* entry = answer.add_tasks();
      entry->set_name(name);
      entry->set_description(description);
    }
  } else {
    auto client = session.Client();
    if (!client.ok()) return ReportTrouble(client.status());
    auto listed = (*client)->ListTasks();
    if (!listed.ok()) return ReportTrouble(listed.status());
    answer = *listed;
  }
  if (session.json()) {
    PrintJson(answer);
    return kExitOk;
  }
  for (const auto& task : answer.tasks()) fmt::print("{:<16} {}\n", task.name(), task.description());
  if (answer.tasks().empty()) fmt::print("no tasks: `fsr task new NAME` makes one\n");
  return kExitOk;
}

}  // namespace fsr
