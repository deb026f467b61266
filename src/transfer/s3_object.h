// Objects of S3 as the rooms of backups and exports write and read them.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transfer/folders.h"

namespace stator::s3 {
class Client;
}

namespace stator::transfer {

// Holds up to 8 MB; an object above that goes in parts. It appears whole with Finish.
std::unique_ptr<ObjectWriter> MakeS3Writer(std::shared_ptr<s3::Client> client, std::string bucket,
                                           std::string key);
// Reads 4 MB ahead. An object that changes meanwhile is kUnavailable. kResourceNotFound if there is
// none. Blocks.
Result<std::unique_ptr<ObjectReader>> MakeS3Reader(std::shared_ptr<s3::Client> client,
                                                   std::string bucket, std::string key);

}  // namespace stator::transfer
