#include "http/tls_keeper.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <utility>

#include "base/log.h"
#include "base/time_text.h"

namespace stator::http {
namespace {

// An expired certificate is served, for clients may check less than they should, but not in
// silence.
void LogLoaded(const TlsPaths& paths, const TlsContext& context) {
  const int64_t expires = context.expires_seconds();
  const std::string text = FormatTime(expires * 1'000'000);
  LogInfo("tls_certificate_loaded", {{"file", paths.certificate}, {"expires", text}});
  if (expires <= static_cast<int64_t>(::time(nullptr)))
    LogWarn("tls_certificate_expired", {{"file", paths.certificate}, {"expired", text}});
}

}  // namespace

Result<std::unique_ptr<TlsKeeper>> TlsKeeper::Open(TlsPaths paths) {
  std::string state = StateOf(paths);
  ASSIGN_OR_RETURN(std::shared_ptr<const TlsContext> context, TlsContext::Load(paths));
  LogLoaded(paths, *context);
  return std::unique_ptr<TlsKeeper>(
      new TlsKeeper(std::move(paths), std::move(state), std::move(context)));
}

std::string TlsKeeper::StateOf(const TlsPaths& paths) {
  std::string state;
  for (const std::string* path : {&paths.certificate, &paths.key, &paths.client_ca}) {
    if (path->empty()) continue;
    struct stat file {};
    if (::stat(path->c_str(), &file) != 0) {
      state += "missing;";
      continue;
    }
    state += fmt::format("{}:{}:{}:{}.{}:{}.{};", file.st_dev, file.st_ino, file.st_size,
                         file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_ctim.tv_sec,
                         file.st_ctim.tv_nsec);
  }
  return state;
}

TlsKeeper::Outcome TlsKeeper::Reload(bool always) {
  const MutexLock reload_lock(reload_mutex_);
  // Note the state of the files before they are read, so that the next call finds a change that
  // happens meanwhile.
  std::string state = StateOf(paths_);
  if (state == tried_ && !always) return Outcome::kSame;
  tried_ = std::move(state);
  Result<std::shared_ptr<const TlsContext>> context = TlsContext::Load(paths_);
  if (!context.ok()) {
    LogWarn("tls_certificate_not_loaded", {{"error", context.error().message()},
                                           {"effect", "the server goes on with the former one"}});
    return Outcome::kKept;
  }
  LogLoaded(paths_, **context);
  const MutexLock lock(mutex_);
  context_ = *std::move(context);
  return Outcome::kReplaced;
}

}  // namespace stator::http
