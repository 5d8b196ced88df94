# SPDX-License-Identifier: Apache-2.0
"""Embeds the lines of a text file with Spark, in a pandas UDF.

    spark_udf.py MODEL.so LINES.txt OUTPUT_FOLDER [WORKERS]
"""

import os
import sys
from collections.abc import Iterator

import heddle
import pandas
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, pandas_udf

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def main(model, lines, output, workers="2"):
    # A task may fail three times. On a cluster spark-submit says the master.
    spark = SparkSession.builder.master(f"local[{workers},4]").getOrCreate()

    @pandas_udf("array<float>")
    def embed(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        # A worker loads the model at its first task and maps its file: workers share the memory of its weights.
        for batch in batches:
            yield pandas.Series(list(heddle.shared(model).encode(batch.tolist())))

    texts = spark.read.text(lines).repartition(8 * int(workers))
    texts.select(col("value").alias("text"), embed("value").alias("embedding")).write.parquet(output)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
