// The whole coordinator in one object: lock, store, dispatch, job loop, services.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/dispatch/dispatcher.h"
#include "server/search/coordinator.h"
#include "server/store/store.h"

namespace fsr {

// Whether an address that others than this machine can reach is taken without TLS.
enum class Exposure { kLoopbackOnly, kInsecureNetwork };

// Not safe for concurrent use.
class Server {
 public:
  struct Options {
    std::string listen = "127.0.0.1:0";
    Exposure exposure = Exposure::kLoopbackOnly;
    std::filesystem::path database;
    std::filesystem::path prompts;
    Dispatcher::Options dispatch = {};
    Clock* clock = SystemClock();
  };
  // FAILED_PRECONDITION: another server holds the database, the port is in use, the address is open to the network, the
  // schema is newer. INVALID_ARGUMENT: no address. What the store and the prompts say.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options);
  ~Server();                       // Stop
  Server(const Server&) = delete;  // owns threads
  Server& operator=(const Server&) = delete;

  const std::string& address() const;  // with the port that was bound
  // Users before what they use: calls end, then the job loop, then the store.
  void Stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fsr
