"""Corruption of batches by objective: masked language modelling, permutation language modelling, prefix LM, denoising
and span corruption, and the shifted decoder inputs of teacher forcing.

What a collating function of other toolkits does per objective (`DataCollatorForLanguageModeling` and its kin) is here a
function from a batch of whole text to the batch with corrupted inputs and the targets to predict.
"""
