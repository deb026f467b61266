// Keeps the TLS context that new connections begin with, and replaces it when its files change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "http/tls.h"

namespace stator::http {

// Thread-safe. Connections that are open stay with the context they began with.
class TlsKeeper {
 public:
  // Fails as TlsContext::Load does.
  static Result<std::unique_ptr<TlsKeeper>> Open(TlsPaths paths);

  std::shared_ptr<const TlsContext> current() const {
    const MutexLock lock(mutex_);
    return context_;
  }

  enum class Outcome { kSame, kReplaced, kKept };
  // Reads the files again if one of them is another than at the last try, or in any case with
  // `always`. Files that do not fit leave the context in use: kKept. Logs the outcome unless it is
  // kSame, so that files which stay broken are logged once. Blocks on the file system.
  Outcome Reload(bool always);

 private:
  TlsKeeper(TlsPaths paths, std::string state, std::shared_ptr<const TlsContext> context)
      : paths_(std::move(paths)), tried_(std::move(state)), context_(std::move(context)) {}
  // Inodes, sizes and times of the files, of which a change of a file changes some.
  static std::string StateOf(const TlsPaths& paths);

  const TlsPaths paths_;
  Mutex reload_mutex_;  // one Reload at a time
  std::string tried_ GUARDED_BY(reload_mutex_);
  mutable Mutex mutex_;
  std::shared_ptr<const TlsContext> context_ GUARDED_BY(mutex_);
};

}  // namespace stator::http
