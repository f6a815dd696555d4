//! Parquet: typed columns, row groups of a bounded size.
//!
//! Times are `timestamp(ms, UTC)`, dates are dates, numbers are doubles, lists are lists of
//! strings. The texts of the questions are in the file's metadata under `sluice.questions`.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::json;
use sluice_flow::time::{Day, Timestamp};
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::columns::{Cells, Column, ColumnKind, Columns};
use super::flat_row::FlatRow;
use super::format::{ExportFormat, Followed, FormatWriter};
use super::outlet::Outlet;
use super::values_as::ValuesAs;

/// The limits of a row group, in rows and in bytes of text: it is in memory until it is written.
const GROUP_ROWS_MAX: usize = 20_000;
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) static FORMAT: ExportFormat = ExportFormat {
    name: "parquet",
    extension: "parquet",
    media_type: "application/vnd.apache.parquet",
    label: "Parquet",
    summary: "typed columns, for analysis (pandas, DuckDB, Spark)",
    values: "`receivedAt` is `timestamp(ms, UTC)`, dates are dates, numbers doubles, `version` an \
        integer; lists are lists of strings",
    rows_max: None,
    has_columns: true,
    values_as: ValuesAs::Ids,
    has_codebook: false,
    followed: Some(Followed::Files),
    count_rows: Some(count_rows),
    lines: None,
    new_writer: |columns| Ok(Box::new(Parquet::new(columns)?)),
};

/// The number of rows in the footer of a file.
fn count_rows(file: &File) -> Option<u64> {
    let footer = ParquetMetaDataReader::new().parse_and_finish(file).ok()?;
    u64::try_from(footer.file_metadata().num_rows()).ok()
}

struct Parquet {
    columns: Columns,
    writer: SerializedFileWriter<Drain>,
    drain: Drain,
    group: Group,
}

impl From<ParquetError> for ExportFailed {
    fn from(error: ParquetError) -> Self {
        Self(error.to_string())
    }
}

impl Parquet {
    fn new(columns: Columns) -> std::result::Result<Self, ExportFailed> {
        let all = columns.all();
        let fields: Result<Vec<_>> = all.iter().map(|column| field(column).map(Arc::new)).collect();
        let schema = Type::group_type_builder("response").with_fields(fields?).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("sluice ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(vec![questions(&columns)]))
            .build();
        let drain = Drain::default();
        let writer =
            SerializedFileWriter::new(drain.clone(), Arc::new(schema), Arc::new(properties))?;
        let group = Group::new(&all);
        Ok(Self { columns, writer, drain, group })
    }

    /// Writes the rows that are waiting as a group.
    fn write_group(&mut self) -> Result<()> {
        if self.group.rows == 0 {
            return Ok(());
        }
        let mut row_group = self.writer.next_row_group()?;
        for cells in &mut self.group.cells {
            let Some(mut column) = row_group.next_column()? else { break };
            cells.write(&mut column)?;
            column.close()?;
        }
        row_group.close()?;
        (self.group.rows, self.group.bytes) = (0, 0);
        Ok(())
    }
}

impl FormatWriter for Parquet {
    fn begin(&mut self, _: Option<u64>, _: &mut Vec<u8>) -> std::result::Result<(), ExportFailed> {
        Ok(())
    }

    fn add(
        &mut self,
        rows: &[ResponseRow],
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), ExportFailed> {
        let mut flat = FlatRow::new(&self.columns.layout);
        for row in rows {
            flat.fill(row, &self.columns.layout)?;
            self.group.next = 0;
            self.columns.write_cells(row, &flat, &mut self.group);
            self.group.rows += 1;
            if self.group.is_full() {
                self.write_group()?;
            }
        }
        out.append(&mut self.drain.lock());
        Ok(())
    }

    fn end(mut self: Box<Self>, outlet: &mut Outlet<'_>) -> std::result::Result<(), ExportFailed> {
        self.write_group()?;
        self.writer.finish()?;
        let rest = std::mem::take(&mut *self.drain.lock());
        io::Write::write_all(outlet, &rest).map_err(|error| ExportFailed(error.to_string()))
    }
}

/// Bytes that are written but not yet taken.
#[derive(Debug, Clone, Default)]
struct Drain(Arc<Mutex<Vec<u8>>>);

impl Drain {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Drain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn questions(columns: &Columns) -> KeyValue {
    let questions = columns.layout.questions.iter().enumerate();
    let questions = questions.filter(|(at, _)| columns.has_question(*at)).map(|(at, question)| {
        json!({
            "column": columns.name_at(at), "id": question.id, "type": question.question_type,
            "prompt": question.prompt, "lastAskedInVersion": question.last_asked_in,
        })
    });
    let value = serde_json::Value::Array(questions.collect()).to_string();
    KeyValue { key: "sluice.questions".to_owned(), value: Some(value) }
}

fn field(column: &Column) -> Result<Type> {
    let utc = LogicalType::timestamp(true, TimeUnit::MILLIS);
    let (physical, logical) = match column.kind {
        ColumnKind::Text | ColumnKind::List => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Whole => (Physical::INT32, None),
        ColumnKind::Number => (Physical::DOUBLE, None),
        ColumnKind::Date => (Physical::INT32, Some(LogicalType::Date)),
        ColumnKind::Time => (Physical::INT64, Some(utc)),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
    };
    let (name, repetition) = match column.kind {
        ColumnKind::List => ("element", Repetition::REQUIRED),
        _ => (column.name.as_str(), Repetition::OPTIONAL),
    };
    let value = Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()?;
    if column.kind != ColumnKind::List {
        return Ok(value);
    }
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(value)])
        .build()?;
    Type::group_type_builder(&column.name)
        .with_logical_type(Some(LogicalType::List))
        .with_repetition(Repetition::OPTIONAL)
        .with_fields(vec![Arc::new(list)])
        .build()
}

/// The cells of the waiting rows, column by column.
struct Group {
    cells: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
    /// The column of the next cell.
    next: usize,
}

/// Values with the definition level of each: 0 is null, the highest is a value. A list also stores
/// where it begins.
enum ColumnBuffer {
    Text(Vec<ByteArray>, Vec<i16>),
    Whole(Vec<i32>, Vec<i16>),
    Number(Vec<f64>, Vec<i16>),
    Time(Vec<i64>, Vec<i16>),
    Flag(Vec<bool>, Vec<i16>),
    List(Vec<ByteArray>, Vec<i16>, Vec<i16>),
}

impl ColumnBuffer {
    fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Self::Text(Vec::new(), Vec::new()),
            ColumnKind::Whole | ColumnKind::Date => Self::Whole(Vec::new(), Vec::new()),
            ColumnKind::Number => Self::Number(Vec::new(), Vec::new()),
            ColumnKind::Time => Self::Time(Vec::new(), Vec::new()),
            ColumnKind::Flag => Self::Flag(Vec::new(), Vec::new()),
            ColumnKind::List => Self::List(Vec::new(), Vec::new(), Vec::new()),
        }
    }

    fn empty(&mut self) {
        match self {
            Self::Text(_, levels)
            | Self::Whole(_, levels)
            | Self::Number(_, levels)
            | Self::Time(_, levels)
            | Self::Flag(_, levels) => levels.push(0),
            Self::List(_, levels, begins) => {
                levels.push(0);
                begins.push(0);
            }
        }
    }

    /// Writes the values and clears them.
    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Self::Text(values, levels) => put::<ByteArrayType>(column.typed(), values, levels),
            Self::Whole(values, levels) => put::<Int32Type>(column.typed(), values, levels),
            Self::Number(values, levels) => put::<DoubleType>(column.typed(), values, levels),
            Self::Time(values, levels) => put::<Int64Type>(column.typed(), values, levels),
            Self::Flag(values, levels) => put::<BoolType>(column.typed(), values, levels),
            Self::List(values, levels, begins) => {
                let writer = column.typed::<ByteArrayType>();
                writer.write_batch(values, Some(levels), Some(begins))?;
                begins.clear();
                values.clear();
                levels.clear();
                Ok(())
            }
        }
    }
}

fn put<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    levels: &mut Vec<i16>,
) -> Result<()> {
    writer.write_batch(values, Some(levels), None)?;
    values.clear();
    levels.clear();
    Ok(())
}

impl Group {
    fn new(columns: &[Column]) -> Self {
        let cells = columns.iter().map(|column| ColumnBuffer::new(column.kind)).collect();
        Self { cells, rows: 0, bytes: 0, next: 0 }
    }

    fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX
    }

    fn cell(&mut self) -> &mut ColumnBuffer {
        self.next += 1;
        &mut self.cells[self.next - 1]
    }

    fn put(&mut self, text: &str) {
        self.bytes += text.len();
        match self.cell() {
            ColumnBuffer::Text(values, levels) => {
                values.push(ByteArray::from(text.as_bytes().to_vec()));
                levels.push(1);
            }
            other => other.empty(),
        }
    }
}

impl Cells for Group {
    fn empty(&mut self) {
        self.cell().empty();
    }

    fn text(&mut self, text: &str) {
        self.put(text);
    }

    fn plain(&mut self, text: &str) {
        self.put(text);
    }

    fn whole(&mut self, number: u32) {
        match (self.cell(), i32::try_from(number)) {
            (ColumnBuffer::Whole(values, levels), Ok(number)) => {
                values.push(number);
                levels.push(1);
            }
            (other, _) => other.empty(),
        }
    }

    fn number(&mut self, number: &str) {
        match (self.cell(), number.parse()) {
            (ColumnBuffer::Number(values, levels), Ok(number)) => {
                values.push(number);
                levels.push(1);
            }
            (other, _) => other.empty(),
        }
    }

    fn date(&mut self, date: &str) {
        match (self.cell(), date.parse::<Day>()) {
            (ColumnBuffer::Whole(values, levels), Ok(day)) => {
                values.push(day.number());
                levels.push(1);
            }
            (other, _) => other.empty(),
        }
    }

    fn time(&mut self, time: Timestamp) {
        match self.cell() {
            ColumnBuffer::Time(values, levels) => {
                values.push(time.as_millis());
                levels.push(1);
            }
            other => other.empty(),
        }
    }

    fn flag(&mut self, flag: bool) {
        match self.cell() {
            ColumnBuffer::Flag(values, levels) => {
                values.push(flag);
                levels.push(1);
            }
            other => other.empty(),
        }
    }

    fn list(&mut self, texts: &[Cow<'_, str>]) {
        self.bytes += texts.iter().map(|text| text.len()).sum::<usize>();
        match self.cell() {
            ColumnBuffer::List(_, levels, begins) if texts.is_empty() => {
                levels.push(1);
                begins.push(0);
            }
            ColumnBuffer::List(values, levels, begins) => {
                for (index, text) in texts.iter().enumerate() {
                    values.push(ByteArray::from(text.as_bytes().to_vec()));
                    levels.push(2);
                    begins.push(i16::from(index > 0));
                }
            }
            other => other.empty(),
        }
    }
}
