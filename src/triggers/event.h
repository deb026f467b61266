// Events as functions get them, in the shape of Lambda's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stream/record.h"
#include "stream/stream.h"
#include "triggers/lane.h"

namespace stator::triggers {

// Returns the JSON object of one change. `arn` is the stream's.
std::string RecordJson(const stream::StreamDescriptor& stream, const stream::Record& record,
                       std::string_view region, std::string_view arn);

// Returns {"Records":[...]} of the changes.
std::string EventJson(const std::vector<const Change*>& changes);

}  // namespace stator::triggers
