//! How a reader takes the cells of a row; each backend implements it for its own rows.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use uuid::Uuid;

/// The cells of one row, read from left to right.
pub(crate) trait ReadCells {
    type Error;

    fn text(&mut self) -> Result<String, Self::Error>;
    fn optional_text(&mut self) -> Result<Option<String>, Self::Error>;
    fn integer(&mut self) -> Result<i64, Self::Error>;
    fn optional_integer(&mut self) -> Result<Option<i64>, Self::Error>;
    fn flag(&mut self) -> Result<bool, Self::Error>;
    fn uuid(&mut self) -> Result<Uuid, Self::Error>;
    fn optional_uuid(&mut self) -> Result<Option<Uuid>, Self::Error>;
    fn hash(&mut self) -> Result<[u8; 32], Self::Error>;
    fn optional_hash(&mut self) -> Result<Option<[u8; 32]>, Self::Error>;
    fn optional_bytes(&mut self) -> Result<Option<Vec<u8>>, Self::Error>;
    /// The error for the last cell read: it does not hold a valid value.
    fn unreadable(&self, why: impl fmt::Display) -> Self::Error;

    fn id<T>(&mut self, make: fn(Uuid) -> T) -> Result<T, Self::Error> {
        self.uuid().map(make)
    }

    fn optional_id<T>(&mut self, make: fn(Uuid) -> T) -> Result<Option<T>, Self::Error> {
        Ok(self.optional_uuid()?.map(make))
    }

    /// An app id; NULL and the nil id are `None`.
    fn optional_app(&mut self) -> Result<Option<AppId>, Self::Error> {
        Ok(self.optional_uuid()?.filter(|id| !id.is_nil()).map(AppId::from_uuid))
    }

    fn revision(&mut self) -> Result<u64, Self::Error> {
        self.integer().map(i64::cast_unsigned)
    }

    fn number(&mut self) -> Result<u32, Self::Error> {
        let number = self.integer()?;
        u32::try_from(number).map_err(|error| self.unreadable(error))
    }

    fn optional_number(&mut self) -> Result<Option<u32>, Self::Error> {
        let number = self.optional_integer()?;
        number.map(|it| u32::try_from(it).map_err(|error| self.unreadable(error))).transpose()
    }

    fn time(&mut self) -> Result<Timestamp, Self::Error> {
        self.integer().map(Timestamp::from_millis)
    }

    fn optional_time(&mut self) -> Result<Option<Timestamp>, Self::Error> {
        Ok(self.optional_integer()?.map(Timestamp::from_millis))
    }

    /// A value that is stored as JSON.
    fn json<T: DeserializeOwned>(&mut self) -> Result<T, Self::Error> {
        let text = self.text()?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(error))
    }

    fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Self::Error> {
        let text = self.optional_text()?;
        let read = |text: String| serde_json::from_str(&text);
        text.map(read).transpose().map_err(|error| self.unreadable(error))
    }

    /// A variant of an enum, stored under its serde name.
    fn variant<T: DeserializeOwned>(&mut self) -> Result<T, Self::Error> {
        let name = self.text()?;
        serde_json::from_value(serde_json::Value::String(name))
            .map_err(|error| self.unreadable(error))
    }

    fn optional_variant<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Self::Error> {
        let name = self.optional_text()?;
        let read = |name: String| serde_json::from_value(serde_json::Value::String(name));
        name.map(read).transpose().map_err(|error| self.unreadable(error))
    }

    fn parsed<T: FromStr<Err: fmt::Display>>(&mut self) -> Result<T, Self::Error> {
        let text = self.text()?;
        text.parse().map_err(|error| self.unreadable(error))
    }
}
