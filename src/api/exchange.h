// Schemas of the operations on exports and imports.
#pragma once

#include "api/schema.h"
#include "ops/exports.h"
#include "ops/imports.h"

namespace stator::api {

template <>
const OperationSchema& SchemaOf<ops::ExportTableToPointInTimeRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeExportRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListExportsRequest>();
template <>
const OperationSchema& SchemaOf<ops::ImportTableRequest>();
template <>
const OperationSchema& SchemaOf<ops::DescribeImportRequest>();
template <>
const OperationSchema& SchemaOf<ops::ListImportsRequest>();

}  // namespace stator::api
