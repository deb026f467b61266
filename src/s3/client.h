// A client of one S3 endpoint: buckets and objects, named in the path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/sigv4.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "egress/client.h"
#include "egress/url.h"

namespace stator::s3 {

struct Options {
  egress::Url endpoint;  // without a path: BUCKET/KEY is the path
  access::SigningKey key;
  std::string region;
  std::shared_ptr<const egress::TlsTrust> trust;  // may be null without TLS
  egress::Limits limits = {.body_bytes = 32 << 20};
  // Tries of each request. A server that is not reached, that is overloaded (429, SlowDown) or
  // that fails (5xx) is asked again.
  int tries = 5;
  int64_t first_pause_micros = 100'000;  // doubled with each further try
  // Waits between tries.
  std::function<void(int64_t micros)> pause;
};

struct Object {
  std::string key;
  uint64_t bytes = 0;
  std::string modified;  // "2026-11-21T12:30:05.250Z"
};
struct Page {
  std::vector<Object> objects;
  std::string next;  // the token of the next page; empty: this was the last
};
// An object without its bytes.
struct Properties {
  uint64_t bytes = 0;
  std::string etag;
};

// Thread-safe; its calls block. Errors: kResourceNotFound (no such bucket, object or upload),
// kAccessDenied (the key is wrong, or may not do it), kUnavailable for all others. Each has a
// sentence for people that names the request, with S3's code and message.
class Client {
 public:
  // S3's least size of a part that is not the last.
  static constexpr size_t kLeastPartBytes = 5 << 20;

  // `clock` measures timeouts and dates signatures; it must outlive the client.
  Client(Options options, const Clock& clock);
  ~Client();

  // OK if the bucket is there and the key may use it.
  Status CheckBucket(const std::string& bucket);
  // Makes the bucket if it is not there.
  Status MakeBucket(const std::string& bucket);

  Result<Properties> Describe(const std::string& bucket, const std::string& key);
  // Returns up to `bytes` bytes at `offset`; fewer only at the object's end. Fails if the object
  // does not have the ETag `etag`; empty: any.
  Result<std::string> Get(const std::string& bucket, const std::string& key, uint64_t offset,
                          size_t bytes, const std::string& etag);
  Status Put(const std::string& bucket, const std::string& key, std::string_view body);
  // OK if there is none.
  Status Delete(const std::string& bucket, const std::string& key);
  // Returns objects whose keys begin with `prefix`, by key, up to 1000. `from`: Page::next. An
  // answer with another key is refused.
  Result<Page> List(const std::string& bucket, std::string_view prefix, const std::string& from);
  // Visits all objects with this prefix, page by page. Ends with the first error and returns it.
  // kLimitExceeded if there are more than `most`, for example because a broken server returns the
  // same page again and again.
  Status ListAll(const std::string& bucket, std::string_view prefix, size_t most,
                 FunctionRef<Status(const Object& object)> visit);

  // Begins an object that is written in parts, and returns the upload's id. The object appears with
  // CompleteParts. Parts are numbered from 1.
  Result<std::string> BeginParts(const std::string& bucket, const std::string& key);
  // Returns the part's ETag.
  Result<std::string> PutPart(const std::string& bucket, const std::string& key,
                              const std::string& upload, int number, std::string_view body);
  Status CompleteParts(const std::string& bucket, const std::string& key, const std::string& upload,
                       const std::vector<std::string>& etags);
  Status AbortParts(const std::string& bucket, const std::string& key, const std::string& upload);

  // Ends the calls under way, and fails later ones.
  void Cancel();
  // "https://host:port".
  std::string place() const { return options_.endpoint.origin(); }

 private:
  struct Request;
  class Connection;
  // Sends a request, with retries for errors that may pass, and returns a reply with a status below
  // 300.
  Result<egress::Reply> Send(const Request& request);
  Result<egress::Reply> SendOnce(const Request& request);
  Error Refused(const Request& request, const egress::Reply& reply) const;

  const Options options_;
  const Clock& clock_;
  Mutex mutex_;
  std::vector<std::unique_ptr<egress::Client>> idle_ GUARDED_BY(mutex_);
  std::vector<egress::Client*> busy_ GUARDED_BY(mutex_);
  bool cancelled_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::s3
