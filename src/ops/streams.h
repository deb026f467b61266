// Streams as clients see them: names, descriptions, and what tables say of them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "stream/stream.h"

namespace stator::ops {

inline constexpr int64_t kMaxStreamsPerPage = 100;
inline constexpr int64_t kMaxShardsPerPage = 100;
inline constexpr int64_t kMaxRecordsPerPage = 1000;

// Converts view types between the API's enum and the stored one, which have the same values.
inline stream::ViewType ToStored(StreamViewType type) {
  return static_cast<stream::ViewType>(type);
}
inline StreamViewType ToApi(stream::ViewType type) { return static_cast<StreamViewType>(type); }
static_assert(static_cast<int>(StreamViewType::kKeysOnly) ==
              static_cast<int>(stream::ViewType::kKeysOnly));

// Checks that StreamViewType is given if the stream is to be enabled, and only then.
Status CheckStreamSpecification(const StreamSpecification& specification);

std::string StreamArn(const Environment& env, const stream::StreamDescriptor& stream);
// The stream of that ARN, in whatever account and Region. kResourceNotFound.
Result<stream::StreamPtr> FindStream(const Context& ctx, std::string_view arn);
// The stream of the default account that an ARN names, whatever account is in it.
// kResourceNotFound, kValidation.
Result<stream::StreamPtr> FindDefaultStream(const Environment& env, std::string_view arn);

// The client's text of an iterator: arn "|1|" payload. The payload is the room stream's.
std::string ShardIteratorText(const Environment& env, const stream::StreamDescriptor& stream,
                              std::string_view payload);

inline Error ShardNotFound() {
  return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Shard does not exist");
}

}  // namespace stator::ops
